/** The command `baton approve`: approve a handoff, which accepts and completes it. */
import { AS_OPTION, command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { OUTPUT_OPTIONS, outputsOf } from "../../options/result.ts";
import { printDelivery } from "../../render/delivery.ts";
import { printJson } from "../../terminal.ts";
import { openForWork, SEEN_OPTION } from "../../work-by-handle.ts";

export const approve = command({
  name: "approve",
  summary: "Approve a handoff, which accepts and completes it",
  args: [DELIVERY],
  options: {
    ...AS_OPTION,
    comment: { type: "text", value: "<text>", help: "comment for the sender" },
    ...OUTPUT_OPTIONS,
    ...SEEN_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { as, comment, output, seen, json, ...choice } }) {
    await using hub = await openForWork(choice);
    const person = await hub.agent(as, undefined, { lease: "session" });
    const { envelope } = await hub.deliveries.get(id);
    const outputs = await outputsOf(envelope.expects, output);
    const row = await person.approvals.approve(id, { comment, outputs, seen });
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});
