/** The command `baton primer`: print the primer of a handoff (at most 2 KB, ready to paste). */
import { command, DELIVERY, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { printable, printJson, printLine } from "../../terminal.ts";

export const primer = command({
  name: "primer",
  summary: "Print the primer of a handoff (at most 2 KB, ready to paste)",
  args: [DELIVERY],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = ""], options: { json, ...choice } }) {
    await using hub = await openExisting(choice);
    const delivery = id.replace(/#\d+$/, ""); // A handle works too.
    const text = await hub.deliveries.primer(delivery);
    if (json) printJson({ delivery, primer: text });
    else printLine(printable(text.trimEnd()));
    return OK;
  },
});
