/** The command `baton reject`: reject a handoff permanently; the sender gets the reason. */
import { AS_OPTION, command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printDelivery } from "../../render/delivery.ts";
import { printJson } from "../../terminal.ts";
import { openForWork, SEEN_OPTION } from "../../work-by-handle.ts";

export const reject = command({
  name: "reject",
  summary: "Reject a handoff permanently; the sender gets the reason",
  args: [DELIVERY, { name: "reason", help: "reason, in quotes" }],
  options: { ...AS_OPTION, ...SEEN_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = "", reason = ""], options: { as, seen, json, ...choice } }) {
    await using hub = await openForWork(choice);
    const person = await hub.agent(as, undefined, { lease: "session" });
    await hub.deliveries.get(id); // Throws for an unknown id.
    const row = await person.approvals.reject(id, reason, { seen });
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});
