/** Runs one command line: prints the result or the error and returns the exit code. */
import { batonVersion } from "../base/version.ts";
import { OK } from "./exit.ts";

/** Runs the command line; never rejects. */
export async function run(words: readonly string[]): Promise<number> {
  // `baton recent | head` closes the pipe early, which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(OK);
  });
  if (words[0] === "--version" || words[0] === "-v") {
    process.stdout.write(`${batonVersion()}\n`); // Loads nothing else, because scripts query the version often.
    return OK;
  }
  try {
    const { dispatch } = await import("./dispatch.ts");
    return await dispatch(words);
  } catch (error) {
    const { printError: fail } = await import("./render/error.ts");
    return fail(error, words.includes("--json"));
  }
}
