/** The command `baton clarify`: asks the sender a question; the work is redelivered with the answer. */
import { command } from "../../command.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const clarify = command({
  name: "clarify",
  summary: "Ask the sender a question; the work is redelivered with the answer",
  args: [HANDLE, { name: "question", help: "question, in quotes" }],
  options: { ...SEEN_OPTION, ...WORK_OPTIONS },

  run({ args: [handle = "", question = ""], options }) {
    return settleAt(handle, options, (work) => work.clarify(question));
  },
});
