/** The command `baton questions`: list unanswered questions of receivers to a sender. */
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openUpToDate } from "../../store.ts";
import { bold, dim, oneLine, printJson, printLine } from "../../terminal.ts";

export const questions = command({
  name: "questions",
  summary: "List unanswered questions of receivers to a sender",
  args: [],
  options: { ...AS_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options: { as, json, ...choice } }) {
    await using hub = await openUpToDate(choice);
    const agent = await hub.agent(as);
    const asked = await agent.questions.list();
    if (json) printJson(asked);
    else if (asked.length === 0) printLine(dim(`No open questions for ${agent.id}.`));
    else {
      for (const { delivery, question } of asked) {
        printLine(`${bold(oneLine(question))}  ${delivery.task}, asked by ${delivery.receiver}`);
        printLine(dim(`  ${delivery.id}`));
      }
    }
    return OK;
  },
});
