/** Says how to get the page after this one, if there is one. */
import { dim, printLine } from "../terminal.ts";

export function printMore(next: string | number | undefined): void {
  if (next === undefined) return;
  const quoted = /^[\w@#:.-]+$/.test(String(next)) ? next : JSON.stringify(next);
  printLine(dim(`More: --after ${quoted}`));
}
