import { command } from "../../command.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const fail = command({
  name: "fail",
  summary:
    "gives up on accepted work; it is tried again, or whoever decides is told, or it is parked",
  args: [HANDLE, { name: "message", help: "what went wrong, in quotes" }],
  options: {
    permanent: { type: "flag", help: "no other try can mend it" },
    type: { type: "text", value: "<word>", help: "what kind of failure; else error" },
    attempted: { type: "text", value: "<text>", help: "what was tried" },
    hint: { type: "texts", value: "<text>", help: "what may help the next one" },
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
