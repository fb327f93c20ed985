/** The command `baton handoff show`: show the state of a handoff: times, attempts, result and envelope. */
import { command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printDelivery, printDeliveryDetails } from "../../render/delivery.ts";
import { printEnvelope } from "../../render/envelope.ts";
import { openUpToDate } from "../../store.ts";
import { printJson, printLine } from "../../terminal.ts";

export const handoffShow = command({
  name: "handoff show",
  summary: "Show the state of a handoff: times, attempts, result and envelope",
  args: [DELIVERY],
  options: {
    follow: { type: "flag", help: "print each change until it is settled" },
    timeout: { type: "duration", value: "<time>", help: "with --follow: maximum time to wait" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { follow, timeout, json, ...choice } }) {
    await using hub = await openUpToDate(choice);
    if (follow) {
      for await (const row of hub.deliveries.watch(id, omitUndefined({ timeoutMs: timeout }))) {
        if (json) printLine(JSON.stringify(row));
        else printDelivery(row);
      }
      return OK;
    }
    const shown = await hub.deliveries.get(id);
    if (json) printJson(shown);
    else {
      printDeliveryDetails(shown);
      printLine();
      await printEnvelope(hub, shown.envelope);
    }
    return OK;
  },
});
