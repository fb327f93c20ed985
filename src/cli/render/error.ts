/** Prints the error of a command: message, path and hint, or the wire format as JSON. */
import { styleText } from "node:util";
import { BatonError, ERROR_CODES } from "../../base/errors.ts";
import { BUG } from "../exit.ts";
import { hintFor, isSharedHint, ruleHint } from "../hints.ts";
import { printable } from "../terminal.ts";

/** Writes the error to stderr and returns the exit code. */
export function printError(error: unknown, json: boolean): number {
  if (!(error instanceof BatonError)) {
    const description = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`Internal error; please report this bug:\n${description}\n`);
    return BUG;
  }
  const hint = hintFor(error);
  const wire = { ...error.toJSON(), hint };
  const text = json ? JSON.stringify(wire, null, 2) : formatError(error, hint);
  process.stderr.write(`${text}\n`);
  return ERROR_CODES[error.code].exit;
}

function formatError(error: BatonError, hint: string): string {
  const mark = styleText("red", "error", { stream: process.stderr });
  return `${mark} ${printable([error.message, ...advice(error, hint)].join("\n"))}`;
}

/** Returns the lines after the message: several violations are listed; a single one is the message. */
function advice(error: BatonError, hint: string): string[] {
  const { violations, path, code, details } = error;
  if (violations.length > 1) {
    return isSharedHint(error)
      ? [...violations.map(({ message }) => `  ${message}`), ` hint ${hint}`]
      : violations.map((each) => `  ${each.message}\n    ${ruleHint(each)}`);
  }
  return [
    ...(code === "budget_too_small" ? itemsIn(details) : []),
    ...(path === "" ? [] : [`   at ${path}`]),
    ` hint ${hint}`,
  ];
}

interface Item {
  readonly tokens: number;
  readonly section: string;
  readonly text: string;
}

/** Lists the mandatory items that exceed the budget, with their tokens. */
function itemsIn({ items }: BatonError["details"]): string[] {
  if (!Array.isArray(items)) return [];
  return (items as readonly Item[]).map(
    ({ tokens, section, text }) =>
      `  ${String(tokens).padStart(6)}  ${section}: ${text.replace(/^- /, "")}`,
  );
}
