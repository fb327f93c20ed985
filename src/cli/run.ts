/** One run of the command line: whatever happens in it becomes output and an exit code. */
import { batonVersion } from "../base/version.ts";
import { OK } from "./exit.ts";

export async function run(words: readonly string[]): Promise<number> {
  // `baton recent | head` closes the pipe early: that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(OK);
  });
  if (words[0] === "--version" || words[0] === "-v") {
    process.stdout.write(`${batonVersion()}\n`); // Loads nothing else: scripts ask for it again and again.
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
