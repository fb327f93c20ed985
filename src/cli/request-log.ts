/** What the hub says on stderr while it runs: a line for a call where that is asked for, and its bugs. */
import type { RequestLogEntry } from "../http/app.ts";

/** No token, no text of anybody: who, what, how it ended, how long it took. */
export function logRequest({
  operation,
  method,
  status,
  ms,
  caller,
  workspace,
}: RequestLogEntry): void {
  const took = `${ms.toFixed(1)} ms`;
  const who = caller === "" ? "-" : `${workspace}/${caller}`;
  process.stderr.write(
    `${new Date().toISOString()} ${status} ${method} ${operation} ${took} ${who}\n`,
  );
}

export function logBug(bug: unknown): void {
  const text = bug instanceof Error ? (bug.stack ?? bug.message) : String(bug);
  process.stderr.write(`${new Date().toISOString()} mistake of ours: ${text}\n`);
}
