/** Where a run's build is: a folder named by the process that started the run, which its workers inherit. */
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Not passed on to programs that a test starts (run-script.ts): a run within a run has its own. */
export const RUN = "BATON_TEST_RUN";

process.env[RUN] ??= String(process.pid);

/** As the package's folder: package.json, dist. */
export const BUILD = join(ROOT, "node_modules", ".cache", "test-build", process.env[RUN]);

/** The environment variable with the folder's URL. */
export const BUILD_URL = "BATON_TEST_BUILD_URL";
process.env[BUILD_URL] = pathToFileURL(BUILD).href;

/** The command line's entry. */
export const BATON = join(BUILD, "dist", "cli", "main.js");

/** The built form of a program in test/ that tests start as a process. */
export function builtChild(script: URL): string {
  const file = relative(ROOT, fileURLToPath(script)).replace(/\.ts$/, ".js");
  return join(BUILD, "dist", file);
}
