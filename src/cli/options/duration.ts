/** Parses a duration such as 15s, 5m, 2h or 1d. */
import { usageError } from "../usage-error.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 } as const;

/** Returns a duration in milliseconds. Throws `invalid_input`. */
export function parseDuration(rawName: string, value: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? [];
  const ms = Math.round(Number(number) * (UNITS[unit as keyof typeof UNITS] ?? 0));
  if (ms > 0 && Number.isSafeInteger(ms)) return ms;
  throw usageError(
    rawName,
    `Invalid ${rawName} "${value}": expected a duration.`,
    "Write a number and a unit: 15s, 5m, 2h or 1d.",
  );
}
