/** Results: what a receiver hands in. Compared with what the handoff expects in expected-outputs.ts. */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { FreeForm, Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);
const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);

export const ResultSchema = z.strictObject({
  confidence: z.number().min(0).max(1).optional(),
  /** The criteria that are met, by the name of the output they belong to. */
  criteria: z.record(z.string(), z.array(Line).max(FORMAT_LIMITS.listItems)).optional(),
  /** How it ended, in one word: routes may depend on it. */
  outcome: Slug.optional(),
  /** What the envelope's expected outputs asked for, by name. */
  outputs: FreeForm.optional(),
  summary: Text.optional(),
});
export type Result = z.input<typeof ResultSchema>;
export type CheckedResult = z.output<typeof ResultSchema>;

export function checkResult(result: Result): CheckedResult {
  const checked = parseOrThrow(ResultSchema, result, {
    code: "invalid_input",
    what: "The result",
    prefix: "result",
  });
  canonicalJson(checked, "invalid_input", "result"); // Faults are named as the caller wrote it.
  return checked;
}
