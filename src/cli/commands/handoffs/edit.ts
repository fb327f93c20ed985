/** The command `baton edit`: accepts a handoff and returns it to its sender as a new, changed envelope. */
import { AS_OPTION, command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { CONTENT_OPTIONS, contentOf } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printSent } from "../../render/sent.ts";
import { openForWork, SEEN_OPTION } from "../../work-by-handle.ts";

export const edit = command({
  name: "edit",
  summary: "Return a handoff to its sender with changes, as a new envelope",
  args: [DELIVERY],
  options: {
    ...AS_OPTION,
    intent: { type: "text", value: "<text>", help: "new intent" },
    ...CONTENT_OPTIONS,
    comment: { type: "text", value: "<text>", help: "reason, stored in the history" },
    to: { type: "text", value: "<receiver>", help: "receiver (default: the sender)" },
    ...SEEN_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options }) {
    const { as, intent, comment, to, seen, json, store, workspace } = options;
    await using hub = await openForWork({ store, workspace });
    const person = await hub.agent(as, undefined, { lease: "session" });
    await hub.deliveries.get(id); // Throws for an unknown id.
    const changes = { ...contentOf(options), ...omitUndefined({ intent, comment, to, seen }) };
    await printSent(await person.approvals.edit(id, changes), json);
    return OK;
  },
});
