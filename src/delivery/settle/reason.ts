/** The reason of a decision: its schema and check. */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

/** A non-empty text. */
export const Reason = z.string().min(1).max(FORMAT_LIMITS.textLength);

/** Returns the text if it is valid and can be stored; throws `invalid_input` with the given path. */
export function checkReason(text: unknown, path = "reason"): string {
  const checked = parseOrThrow(Reason, text, {
    code: "invalid_input",
    what: `The ${path}`,
    prefix: path,
  });
  canonicalJson(checked, "invalid_input", path);
  return checked;
}
