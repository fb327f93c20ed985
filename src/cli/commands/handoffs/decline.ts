import { command } from "../../command.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const decline = command({
  name: "decline",
  summary: "refuses accepted work for good, and tells the sender why",
  args: [HANDLE, { name: "reason", help: "why, in quotes" }],
  options: { ...SEEN_OPTION, ...WORK_OPTIONS },

  run({ args: [handle = "", reason = ""], options }) {
    return settleAt(handle, options, (work) => work.decline(reason));
  },
});
