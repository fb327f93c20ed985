/** Parses option values that are a point in time. */
import { usageError } from "../usage-error.ts";

/** Returns milliseconds since the epoch; undefined if the option is absent. Throws if it is not a time. */
export function parseInstant(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (at >= 0) return at;
  throw usageError(
    option,
    `Invalid ${option} "${text}": expected a time.`,
    "Write a time such as 2026-01-31T12:00Z.",
  );
}
