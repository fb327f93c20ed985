/** The command `baton release`: return accepted work to the inbox; counts as an attempt. */
import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printDelivery } from "../../render/delivery.ts";
import { printJson } from "../../terminal.ts";
import { HANDLE, holderAt, openForWork, WORK_OPTIONS } from "../../work-by-handle.ts";

export const release = command({
  name: "release",
  summary: "Return accepted work to the inbox; counts as an attempt",
  args: [HANDLE],
  options: WORK_OPTIONS,

  async run({ args: [handle = ""], options: { json, as, ...choice } }) {
    await using hub = await openForWork(choice);
    const agent = await holderAt(hub, handle, as);
    const row = await (await agent.resume(handle)).release();
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});
