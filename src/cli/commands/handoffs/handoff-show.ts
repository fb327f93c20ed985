import { command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { given } from "../../options/given.ts";
import { sayRow, sayTruth } from "../../render/delivery.ts";
import { sayEnvelope } from "../../render/envelope.ts";
import { openExisting } from "../../store.ts";
import { say, sayJson } from "../../terminal.ts";

export const handoffShow = command({
  name: "handoff show",
  summary: "where a handoff stands: every time, every try, what came of it",
  args: [DELIVERY],
  options: {
    follow: { type: "flag", help: "show each change, until it is settled" },
    timeout: { type: "duration", value: "<time>", help: "with --follow: no longer than this" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { follow, timeout, json, ...choice } }) {
    await using hub = await openExisting(choice);
    if (follow) {
      for await (const row of hub.deliveries.watch(id, given({ timeoutMs: timeout }))) {
        if (json) say(JSON.stringify(row));
        else sayRow(row);
      }
      return OK;
    }
    const shown = await hub.deliveries.get(id);
    if (json) sayJson(shown);
    else {
      sayTruth(shown);
      say();
      await sayEnvelope(hub, shown.envelope);
    }
    return OK;
  },
});
