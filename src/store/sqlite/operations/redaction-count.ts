/**
 * How many redactions a file has seen; of an index, how many its store had when it was made. An index
 * from before the newest has words that were redacted: whoever meets it throws it away, also after a
 * crash, and in other processes.
 */
import type { DatabaseSync } from "node:sqlite";

export function readRedactionCount(db: DatabaseSync): number {
  return (db.prepare("pragma user_version").get() as { user_version: number }).user_version;
}

/** Part of the transaction it happens in, like any other change. */
export function setRedactionCount(db: DatabaseSync, redactions: number): void {
  db.exec(`pragma user_version = ${redactions}`);
}
