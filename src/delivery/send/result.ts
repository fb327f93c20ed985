/**
 * The result of a handoff, as its receiver passes it. expected-outputs.ts compares it with what is expected.
 */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { FreeForm, Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);
const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);

/** What a receiver completes work with. */
export const ResultSchema = z.strictObject({
  confidence: z.number().min(0).max(1).optional(),
  /** The criteria that are met, by the name of their output. */
  criteria: z.record(z.string(), z.array(Line).max(FORMAT_LIMITS.listItems)).optional(),
  /** How the work ended, in one word; routes can depend on it. */
  outcome: Slug.optional(),
  /** The outputs that the envelope expects, by name. */
  outputs: FreeForm.optional(),
  summary: Text.optional(),
});
/** A result as the receiver passes it. */
export type Result = z.input<typeof ResultSchema>;
/** A validated result. */
export type CheckedResult = z.output<typeof ResultSchema>;

/** Returns the result if it is valid; throws `invalid_input`. */
export function checkResult(result: Result): CheckedResult {
  const checked = parseOrThrow(ResultSchema, result, {
    code: "invalid_input",
    what: "The result",
    prefix: "result",
  });
  canonicalJson(checked, "invalid_input", "result"); // Reports paths as the caller wrote them.
  return checked;
}
