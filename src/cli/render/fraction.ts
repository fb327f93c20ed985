/** A share from 0 to 1, as somebody writes it at a command line. */
import { mistake } from "../mistake.ts";

export function fraction(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() !== "" && number >= 0 && number <= 1) return number;
  throw mistake(option, `${option} is "${value}", which is not from 0 to 1.`, "Write 0.8, say.");
}
