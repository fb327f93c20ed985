/** Writes the server's log to stderr: one line per request, if enabled, and internal errors. */
import type { RequestLogEntry } from "../http/app.ts";

/** Logs status, operation, duration and caller of a request; never tokens or contents. */
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

/** Logs an internal error with its stack trace. */
export function logBug(bug: unknown): void {
  const text = bug instanceof Error ? (bug.stack ?? bug.message) : String(bug);
  process.stderr.write(`${new Date().toISOString()} internal error: ${text}\n`);
}
