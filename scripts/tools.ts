/** Runs the development tools one after the other, and says how long each took. */

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

/** A tool of node_modules as a step. */
export function tool(name: keyof typeof TOOLS, ...args: string[]): Step {
  return script(join("node_modules", TOOLS[name]), ...args);
}

/** The same, silent unless it fails. */
export function quietTool(name: keyof typeof TOOLS, ...args: string[]): Step {
  return async () => {
    const held: Buffer[] = [];
    const status = await runChild(
      process.execPath,
      [join(ROOT, "node_modules", TOOLS[name]), ...args],
      { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], onOutput: (chunk) => held.push(chunk) },
    );
    if (status !== 0) process.stdout.write(Buffer.concat(held));
    return status;
  };
}

/** A script of the project as a step. */
export function script(path: string, ...args: string[]): Step {
  return () => runChild(process.execPath, [join(ROOT, path), ...args], { cwd: ROOT });
}

/** Runs the steps in order, up to the first that fails; returns its exit code, or 0. */
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
