/** Runs one of the project's programs as a process, and returns its exit code and output. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { BUILD_URL } from "./build/place.ts";

export const ROOT = join(import.meta.dirname, "..", "..");

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Arguments for Node itself, before the script. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs `script`, an absolute path or one relative to the project's root. */
export async function runScript(
  script: string,
  args: readonly string[],
  { node = [], env = {}, cwd = ROOT }: RunOptions = {},
): Promise<Run> {
  const child = spawn(process.execPath, [...node, resolve(ROOT, script), ...args], {
    cwd,
    env: { ...bareEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

/** Returns the environment without variables that the test runner or the user has set. */
function bareEnvironment(): NodeJS.ProcessEnv {
  const {
    BATON_STORE: _,
    NO_COLOR: _no,
    FORCE_COLOR: _force,
    NODE_OPTIONS: _options,
    [BUILD_URL]: _build,
    ...rest
  } = process.env;
  return rest;
}
