/**
 * The location of a run's build: a folder named after the process that started the run. Its workers
 * inherit the variable; programs that a test starts do not (run-script.ts), so that a nested run
 * has its own build.
 */
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The environment variable that contains the folder's URL. */
export const BUILD_URL = "BATON_TEST_BUILD_URL";

process.env[BUILD_URL] ??= pathToFileURL(
  join(ROOT, "node_modules", ".cache", "test-build", String(process.pid)),
).href;

/** The folder of the build, laid out as the package: package.json, dist. */
export const BUILD = fileURLToPath(process.env[BUILD_URL]);

/** The home folder of all processes of the run. Its path is short, because it contains Unix sockets. */
export const HOME = join(tmpdir(), `baton-home-${basename(BUILD)}`);

/** The entry point of the command line. */
export const BATON = join(BUILD, "dist", "cli", "main.js");

/** The URL of the package's main entry point. */
export const PACKAGE = pathToFileURL(join(BUILD, "dist", "index.js")).href;

/** Returns the path of the built form of a program in test/ that tests start as a process. */
export function builtChild(script: URL): string {
  const file = relative(ROOT, fileURLToPath(script)).replace(/\.ts$/, ".js");
  return join(BUILD, "dist", file);
}
