/**
 * The command line as it is published, and the programs that tests start as processes, built once for all
 * test files of a run: from the sources each starts in more than twice the time. Laid out as the package is,
 * in a folder of the run's own.
 */
import { copyFileSync, globSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyData } from "../../../scripts/build.ts";
import { bundleSources } from "../../../scripts/bundle.ts";
import { ROOT } from "../run-script.ts";
import { BUILD } from "./place.ts";

export async function setup(): Promise<void> {
  removeAbandoned();
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
  rmSync(BUILD, { recursive: true, force: true });
}

/** What runs left behind that were killed. */
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
