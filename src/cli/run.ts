/** One run of the command line: whatever happens in it becomes output and an exit code. */
import { batonVersion } from "../version.ts";
import { OK } from "./exit.ts";
import { fail } from "./failure.ts";
import { say } from "./terminal.ts";

export async function run(words: readonly string[]): Promise<number> {
  // `baton recent | head` closes the pipe early: that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(OK);
  });
  if (words[0] === "--version" || words[0] === "-v") {
    say(batonVersion());
    return OK;
  }
  try {
    const { dispatch } = await import("./dispatch.ts");
    return await dispatch(words);
  } catch (error) {
    return fail(error, words.includes("--json"));
  }
}
