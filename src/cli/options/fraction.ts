/** A share from 0 to 1, as somebody writes it at a command line. */
import { usageError } from "../usage-error.ts";

export function parseFraction(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() !== "" && number >= 0 && number <= 1) return number;
  throw usageError(option, `${option} is "${value}", which is not from 0 to 1.`, "Write 0.8, say.");
}
