/** A point in time as it is written on the command line, in milliseconds. */
import { usageError } from "../usage-error.ts";

export function parseInstant(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (at >= 0) return at;
  throw usageError(
    option,
    `${option} is "${text}", which is not a time.`,
    "Write 2026-01-31T12:00Z.",
  );
}
