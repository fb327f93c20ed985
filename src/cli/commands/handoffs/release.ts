import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { sayRow } from "../../render/delivery.ts";
import { HANDLE, holderAt, openForWork, WORK_OPTIONS } from "../../render/work.ts";
import { sayJson } from "../../terminal.ts";

export const release = command({
  name: "release",
  summary: "gives accepted work back to the inbox; that counts as a try",
  args: [HANDLE],
  options: WORK_OPTIONS,

  async run({ args: [handle = ""], options: { json, as, ...choice } }) {
    await using hub = await openForWork(choice);
    const agent = await holderAt(hub, handle, as);
    const row = await (await agent.resume(handle)).release();
    if (json) sayJson(row);
    else sayRow(row);
    return OK;
  },
});
