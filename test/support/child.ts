/**
 * Real processes for tests: a script of ours, run by the Node that runs the test, whose standard
 * output is read line by line. A child that fails leaves its standard error behind.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { builtChild } from "./build/place.ts";

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

export interface Child {
  readonly pid: number;
  /** After the process has ended and everything it wrote was read. */
  readonly ended: Promise<ChildEnd>;
  kill(): void;
  signal(name: NodeJS.Signals): void;
}

/** Starts `script` (a URL, so that it is found from any folder) with arguments. */
export function startChild(
  script: URL,
  args: readonly string[],
  onLine: (line: string) => void,
): Child {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", programAt(script), ...args],
    { stdio: ["ignore", "pipe", "pipe"], env: childEnvironment() },
  );
  readLines(child.stdout, onLine);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  return {
    pid: child.pid ?? 0,
    ended: endOf(child, () => stderr),
    kill: () => void child.kill("SIGKILL"),
    signal: (name) => void child.kill(name),
  };
}

/** As it was built for the run, or its source: what runs without Vitest has no build. */
function programAt(script: URL): string {
  const built = builtChild(script);
  return existsSync(built) ? built : fileURLToPath(script);
}

function endOf(
  child: ChildProcessByStdio<null, Readable, Readable>,
  stderr: () => string,
): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stderr: stderr() }));
  });
}

/** What comes after the last line's end was cut off by a kill, and was never said. */
function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

/** Without what the test runner set for itself. */
function childEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  return env;
}

/**
 * For the child: writes a line before it returns, so that a kill a moment later cannot take it
 * back. `process.stdout` would do for most systems; this does for all.
 */
export function sayLine(value: unknown): void {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
