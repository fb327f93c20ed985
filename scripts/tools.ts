/** Runs development tools in sequence and prints how long each took. */

import { join } from "node:path";
import { runChild } from "./run.mjs";

export const ROOT = join(import.meta.dirname, "..");

const TOOLS = {
  attw: "@arethetypeswrong/cli/dist/index.js",
  biome: "@biomejs/biome/bin/biome",
  publint: "publint/src/cli.js",
  tsc: "typescript/bin/tsc",
  vitest: "vitest/vitest.mjs",
} as const;

export type Step = () => Promise<number>;

/** Returns a step that runs a tool in node_modules. */
export function tool(name: keyof typeof TOOLS, ...args: string[]): Step {
  return script(join("node_modules", TOOLS[name]), ...args);
}

/** Returns a step that runs a tool and prints its output only if it fails. */
export function quietTool(name: keyof typeof TOOLS, ...args: string[]): Step {
  return async () => {
    const output: Buffer[] = [];
    const status = await runChild(
      process.execPath,
      [join(ROOT, "node_modules", TOOLS[name]), ...args],
      { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], onOutput: (chunk) => output.push(chunk) },
    );
    if (status !== 0) process.stdout.write(Buffer.concat(output));
    return status;
  };
}

/** Returns a step that runs a script of the project. */
export function script(path: string, ...args: string[]): Step {
  return () => runChild(process.execPath, [join(ROOT, path), ...args], { cwd: ROOT });
}

/** Runs the steps in order until one fails. Returns its exit code, or 0. */
export async function runSteps(steps: Readonly<Record<string, Step>>): Promise<number> {
  for (const [name, step] of Object.entries(steps)) {
    const started = performance.now();
    const status = await step();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${status === 0 ? "✓" : "✗"} ${name} (${seconds} s)`);
    if (status !== 0) return status;
  }
  return 0;
}
