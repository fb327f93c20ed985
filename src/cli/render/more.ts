/** Says how to get the page after this one, if there is one. */
import { dim, say } from "../terminal.ts";

export function sayMore(next: string | number | undefined): void {
  if (next === undefined) return;
  const quoted = /^[\w@#:.-]+$/.test(String(next)) ? next : JSON.stringify(next);
  say(dim(`More: --after ${quoted}`));
}
