/** Prints the --after option for the next page, if there is one. */
import { dim, printLine } from "../terminal.ts";

export function printMore(next: string | number | undefined): void {
  if (next === undefined) return;
  const quoted = /^[\w@#:.-]+$/.test(String(next)) ? next : JSON.stringify(next);
  printLine(dim(`Next page: --after ${quoted}`));
}
