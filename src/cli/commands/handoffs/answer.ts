/** The command `baton answer`: answer a receiver's question, or reply to a handoff that asks you something. */
import { AS_OPTION, command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printDelivery } from "../../render/delivery.ts";
import { printJson } from "../../terminal.ts";
import { openForWork, SEEN_OPTION } from "../../work-by-handle.ts";

export const answer = command({
  name: "answer",
  summary: "Answer a receiver's question, or reply to a handoff that asks you something",
  args: [DELIVERY, { name: "text", help: "the answer, in quotes" }],
  options: { ...AS_OPTION, ...SEEN_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = "", text = ""], options: { as, seen, json, ...choice } }) {
    await using hub = await openForWork(choice);
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const { delivery } = await hub.deliveries.get(id);
    const row = await (delivery.state === "waiting"
      ? agent.questions.answer(id, text)
      : agent.approvals.reply(id, text, { seen }));
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});
