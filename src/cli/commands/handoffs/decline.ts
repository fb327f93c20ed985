/** The command `baton decline`: decline accepted work permanently; the sender gets the reason. */
import { command } from "../../command.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const decline = command({
  name: "decline",
  summary: "Decline accepted work permanently; the sender gets the reason",
  args: [HANDLE, { name: "reason", help: "reason, in quotes" }],
  options: { ...SEEN_OPTION, ...WORK_OPTIONS },

  run({ args: [handle = "", reason = ""], options }) {
    return settleAt(handle, options, (work) => work.decline(reason));
  },
});
