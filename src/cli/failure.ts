/** How a command that failed says so: message, place and hint for people; the wire form as JSON. */
import { styleText } from "node:util";
import { BatonError, ERROR_CODES } from "../errors.ts";
import { BUG } from "./exit.ts";
import { printable } from "./terminal.ts";

/** Writes the error to stderr and returns the exit code. */
export function fail(error: unknown, json: boolean): number {
  if (!(error instanceof BatonError)) {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`baton has a bug, please report it:\n${told}\n`);
    return BUG;
  }
  const text = json ? JSON.stringify(error, null, 2) : forPeople(error);
  process.stderr.write(`${text}\n`);
  return ERROR_CODES[error.code].exit;
}

function forPeople(error: BatonError): string {
  const mark = styleText("red", "error", { stream: process.stderr });
  return `${mark} ${printable([error.message, ...advice(error)].join("\n"))}`;
}

/** One violation is said by the message itself; of several, each has a hint of its own. */
function advice({ violations, path, hint }: BatonError): string[] {
  if (violations.length > 1) return violations.map((each) => `  ${each.message}\n    ${each.hint}`);
  return [...(path === "" ? [] : [`   at ${path}`]), ` hint ${hint}`];
}
