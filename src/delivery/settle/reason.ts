/** The reason that is given for a decision. */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

export const Reason = z.string().min(1).max(FORMAT_LIMITS.textLength);

/** A text that says something, and that can be kept; faults are named where the caller wrote it. */
export function checkReason(text: unknown, path = "reason"): string {
  const checked = parseOrThrow(Reason, text, {
    code: "invalid_input",
    what: `The ${path}`,
    prefix: path,
  });
  canonicalJson(checked, "invalid_input", path);
  return checked;
}
