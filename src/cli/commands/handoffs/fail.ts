/** The command `baton fail`: reports that accepted work failed; it is retried, escalated or dead-lettered. */
import { command } from "../../command.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const fail = command({
  name: "fail",
  summary: "Report that accepted work failed; it is retried, escalated or dead-lettered",
  args: [HANDLE, { name: "message", help: "what went wrong, in quotes" }],
  options: {
    permanent: { type: "flag", help: "do not retry: another attempt cannot succeed" },
    type: { type: "text", value: "<word>", help: "type of failure (default: error)" },
    attempted: { type: "text", value: "<text>", help: "what was attempted" },
    hint: { type: "texts", value: "<text>", help: "hint for the next attempt" },
    ...SEEN_OPTION,
    ...WORK_OPTIONS,
  },

  run({ args: [handle = "", message = ""], options }) {
    const { permanent, type, attempted, hint, ...choice } = options;
    const failure = { message, ...omitUndefined({ type, attempted, hints: hint?.slice() }) };
    return settleAt(handle, choice, (work) =>
      work.fail({ ...failure, class: permanent ? "permanent" : "retryable" }),
    );
  },
});
