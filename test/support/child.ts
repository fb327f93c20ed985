/**
 * Child processes for tests: runs a script with the Node of the test and reads its standard output
 * line by line. The standard error of a failed child is kept.
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
  /** Resolves after the process has ended and all its output was read. */
  readonly ended: Promise<ChildEnd>;
  kill(): void;
  signal(name: NodeJS.Signals): void;
}

/**
 * Starts `script` (a URL, so that it is found from any folder) with arguments, and with `more` in its
 * environment.
 */
export function startChild(
  script: URL,
  args: readonly string[],
  onLine: (line: string) => void,
  more: NodeJS.ProcessEnv = {},
): Child {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", programAt(script), ...args],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...childEnvironment(), ...more } },
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

/**
 * Returns the path of the script as built for the run, or of its source: there is no build without
 * Vitest.
 */
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

/** Reports complete lines only: text after the last line break was cut off by a kill. */
function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

/** Returns the environment without variables that the test runner set for itself. */
function childEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  return env;
}

/**
 * Writes a line to the standard output of the child and returns after it is written, so that a
 * later kill cannot discard it. `process.stdout` does not guarantee this on all systems.
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
