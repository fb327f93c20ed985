import { command, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { bold, say } from "../terminal.ts";

export const demo = command({
  name: "demo",
  summary: "three agents hand a task along, and one of them is killed",
  args: [],
  options: STORE_OPTIONS,

  async run({ options }) {
    say(bold("Baton carries a task from one AI agent to the next, and loses nothing on the way."));
    say(
      "Told in prose, a handoff drops rules, repeats settled work and dies with its process. Watch:",
    );
    const { tell } = await import("../demo/story.ts"); // After the first line: it loads the library.
    await tell(options);
    return OK;
  },
});
