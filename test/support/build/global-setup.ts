/**
 * Builds the published command line and the programs that tests start as processes, once for all
 * test files of a run: from sources, each takes more than twice as long to start. The build has the
 * layout of the package and a folder per run.
 */
import { copyFileSync, globSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyData } from "../../../scripts/build.ts";
import { bundleSources } from "../../../scripts/bundle.ts";
import { ROOT } from "../run-script.ts";
import { BUILD, HOME } from "./place.ts";

export async function setup(): Promise<void> {
  removeAbandoned();
  mkdirSync(HOME, { recursive: true });
  const dist = join(BUILD, "dist");
  const children = globSync("test/!(support)/**/*child.ts", { cwd: ROOT });
  await bundleSources({
    dir: dist,
    programs: Object.fromEntries(
      children.map((file) => [file.replace(/\.ts$/, ""), join(ROOT, file)]),
    ),
  });
  copyFileSync(join(ROOT, "package.json"), join(BUILD, "package.json"));
  copyData(dist);
}

export function teardown(): void {
  for (const folder of [BUILD, HOME]) rmSync(folder, { recursive: true, force: true });
}

/** Removes the builds of runs that were killed. */
function removeAbandoned(): void {
  const folder = dirname(BUILD);
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (!isRunning(Number(name))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
