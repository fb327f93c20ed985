/**
 * Where a run's build is: a folder named by the process that started the run. Its workers inherit the variable;
 * programs that a test starts do not (run-script.ts), so that a run within a run has its own.
 */
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The environment variable with the folder's URL. */
export const BUILD_URL = "BATON_TEST_BUILD_URL";

process.env[BUILD_URL] ??= pathToFileURL(
  join(ROOT, "node_modules", ".cache", "test-build", String(process.pid)),
).href;

/** Laid out as the package: package.json, dist. */
export const BUILD = fileURLToPath(process.env[BUILD_URL]);

/** The entry of the command line. */
export const BATON = join(BUILD, "dist", "cli", "main.js");

/** The URL of the package's main entry. */
export const PACKAGE = pathToFileURL(join(BUILD, "dist", "index.js")).href;

/** The built form of a program in test/ that tests start as a process. */
export function builtChild(script: URL): string {
  const file = relative(ROOT, fileURLToPath(script)).replace(/\.ts$/, ".js");
  return join(BUILD, "dist", file);
}
