import { command } from "../../command.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { OUTPUT_OPTIONS, resultOf } from "../../options/result.ts";
import { HANDLE, SEEN_OPTION, settleAt, WORK_OPTIONS } from "../../work-by-handle.ts";

export const complete = command({
  name: "complete",
  summary: "hands in the result of accepted work, held against what was asked for",
  args: [HANDLE, { name: "summary", help: "what came of it, in quotes", optional: true }],
  options: {
    ...OUTPUT_OPTIONS,
    met: { type: "texts", value: "<criterion>", help: "a criterion of an output that is met" },
    outcome: { type: "text", value: "<word>", help: "how it ended; routes may lead on from it" },
    result: { type: "json", value: "<json>", help: "all of it as JSON, or @<file>" },
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
