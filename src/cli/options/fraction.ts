/** Parses option values that are a number from 0 to 1. */
import { usageError } from "../usage-error.ts";

/** Returns the number; undefined if the option is absent. Throws if it is not from 0 to 1. */
export function parseFraction(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() !== "" && number >= 0 && number <= 1) return number;
  throw usageError(
    option,
    `Invalid ${option} "${value}": expected a number from 0 to 1.`,
    "Write a number such as 0.8.",
  );
}
