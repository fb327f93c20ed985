/**
 * The commands `baton demo` (three agents hand a task along, and one is killed) and `baton demo team` (a team
 * builds an endpoint, with two failures and a coordinator).
 */
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { bold, printLine } from "../../terminal.ts";

const relay = command({
  name: "demo",
  summary: "Run a demo: three agents hand a task along, and one is killed",
  args: [],
  options: STORE_OPTIONS,

  async run({ options }) {
    printLine(bold("Baton hands a task from one AI agent to the next without losing context."));
    printLine(
      "In prose, handoffs drop rules, repeat settled work and die with their process. With Baton:",
    );
    const { runDemo: runRelay } = await import("../../demo/relay-demo.ts"); // Imported after the first output, because it loads the library.
    await runRelay(options);
    return OK;
  },
});

const team = command({
  name: "demo team",
  summary: "Run a demo: a team builds an endpoint, with two failures and a coordinator",
  args: [],
  options: {
    store: { ...STORE_OPTIONS.store, help: "store of the demo (default: a new temporary file)" },
    workspace: {
      ...STORE_OPTIONS.workspace,
      help: 'workspace name (default: "team-demo"; in a new file: "default")',
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
