import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { bold, printLine } from "../../terminal.ts";

const relay = command({
  name: "demo",
  summary: "three agents hand a task along, and one of them is killed",
  args: [],
  options: STORE_OPTIONS,

  async run({ options }) {
    printLine(
      bold("Baton carries a task from one AI agent to the next, and loses nothing on the way."),
    );
    printLine(
      "Told in prose, a handoff drops rules, repeats settled work and dies with its process. Watch:",
    );
    const { runDemo: tell } = await import("../../demo/relay-demo.ts"); // After the first line: it loads the library.
    await tell(options);
    return OK;
  },
});

const team = command({
  name: "demo team",
  summary: "a coder, a reviewer and a tester make an endpoint, with two failures and a coordinator",
  args: [],
  options: {
    store: { ...STORE_OPTIONS.store, help: "where to play it; else in a new file" },
    workspace: {
      ...STORE_OPTIONS.workspace,
      help: 'the workspace; else "team-demo", in a new file "default"',
    },
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { runTeamDemo: play } = await import("../../demo/team-demo.ts");
    await play(options);
    return OK;
  },
});

export const demo = [relay, team];
