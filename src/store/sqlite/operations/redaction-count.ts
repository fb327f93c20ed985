/**
 * Counts the redactions of a file; in an index, how many its store had when it was made. An index from before
 * the newest redaction contains redacted words, so any process that opens it deletes it, also after a crash.
 */
import type { DatabaseSync } from "node:sqlite";

/** Returns the number of redactions. */
export function readRedactionCount(db: DatabaseSync): number {
  return (db.prepare("pragma user_version").get() as { user_version: number }).user_version;
}

/** Sets the number of redactions, as part of the current transaction. */
export function setRedactionCount(db: DatabaseSync, redactions: number): void {
  db.exec(`pragma user_version = ${redactions}`);
}
