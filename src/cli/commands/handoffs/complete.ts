/**
 * The command `baton complete`: complete accepted work; its result is checked against the expected outputs.
 */
import { command } from "../../command.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { OUTPUT_OPTIONS, resultOf } from "../../options/result.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const complete = command({
  name: "complete",
  summary: "Complete accepted work; its result is checked against the expected outputs",
  args: [HANDLE, { name: "summary", help: "summary of the result, in quotes", optional: true }],
  options: {
    ...OUTPUT_OPTIONS,
    met: { type: "texts", value: "<criterion>", help: "criterion of an output that is met" },
    outcome: {
      type: "text",
      value: "<word>",
      help: "outcome, by which routes choose the next receiver",
    },
    result: { type: "json", value: "<json>", help: "whole result as JSON, or @<file>" },
    ...SEEN_OPTION,
    ...WORK_OPTIONS,
  },

  run({ args: [handle = "", summary], options }) {
    const { output, met, outcome, result, ...choice } = options;
    return settleAt(handle, choice, async (work) =>
      work.complete(
        await resultOf(work.envelope.expects, {
          output,
          met,
          result,
          ...omitUndefined({ summary, outcome }),
        }),
      ),
    );
  },
});
