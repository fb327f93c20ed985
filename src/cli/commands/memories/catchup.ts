/** The command `baton catchup`: print what an agent should know when it starts, without claiming work. */
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting } from "../../store.ts";
import { dim, plural, printable, printJson, printLine } from "../../terminal.ts";

export const catchup = command({
  name: "catchup",
  summary: "Print what an agent should know when it starts, without claiming work",
  args: [],
  options: {
    ...AS_OPTION,
    tokens: { type: "number", value: "<n>", help: "token budget (default: 2000)" },
    task: { type: "text", value: "<task>", help: "only about this task" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { as, tokens, task, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const caughtUp = await agent.catchUp(omitUndefined({ tokens, task }));
    if (json) printJson(caughtUp);
    else {
      printLine(printable(caughtUp.text));
      const left = caughtUp.omitted.length;
      const more = left === 0 ? "" : `, ${plural(left, "record")} left out`;
      printLine(dim(`${plural(caughtUp.tokens, "token")}${more}`));
    }
    return OK;
  },
});
