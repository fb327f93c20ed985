/**
 * One connection to the file, set up the way our durability promise needs it, and the check that
 * the file is whole before anything is written.
 *
 * Nothing of ours opens a file that SQLite may have open in this process: when it is closed again, the
 * system drops every lock SQLite holds there, for all connections (sqlite.org/howtocorrupt.html,
 * 2.2). Another process can then take itself for the last one and remove the log, and what is written
 * to it from here is lost. SQLite looks twice since 3.51; 3.40, in somebody's shell, was seen to do it.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../base/errors.ts";

/** Before this version concurrent checkpoints could lose commits (sqlite.org/wal.html). */
export const MIN_SQLITE_VERSION = [3, 51, 3] as const;

/** Opens the file and changes nothing in it: it may turn out to be somebody else's. */
export function connect(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    refuseOldSqlite(db);
    refuseTruncated(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The durability promise: NORMAL would acknowledge before the log reaches the disk; fullfsync is
 * what macOS needs for the same. Checkpoints run in the housekeeper, so that no commit pays for
 * one. A limit of 0 bytes leaves the size to the disk.
 */
export function configure(db: DatabaseSync, maxBytes: number): void {
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma fullfsync = on;
    pragma wal_autocheckpoint = 0;
    pragma cache_size = -32000;
    pragma temp_store = memory;
  `);
  if (maxBytes > 0)
    db.exec(`pragma max_page_count = ${Math.ceil(maxBytes / readPragma(db, "page_size"))}`);
}

function readPragma(db: DatabaseSync, name: "page_count" | "page_size"): number {
  return db.prepare(`pragma ${name}`).get()?.[name] as number;
}

function refuseOldSqlite(db: DatabaseSync): void {
  const { version } = db.prepare("select sqlite_version() as version").get() as { version: string };
  const parts = version.split(".").map(Number);
  for (const [i, least] of MIN_SQLITE_VERSION.entries()) {
    const part = parts[i] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new BatonError("runtime_too_old", {
        message: `This Node.js brings SQLite ${version}; Baton needs ${MIN_SQLITE_VERSION.join(".")}.`,
        hint: "Install Node.js 24.15 or newer.",
      });
    }
  }
}

/**
 * A file shorter than its own header says has lost its end. SQLite refuses one that lacks whole pages,
 * but takes a last page that was cut for a whole one, and would notice only when it reads what is lost,
 * perhaps months later; so we compare now. With a log beside it the file may rightly be short: an
 * interrupted checkpoint is repaired from the log.
 *
 * Within one read: meanwhile nobody cuts off a log that it reads from, and nobody folds one into the
 * file where it reads from that alone.
 */
function refuseTruncated(db: DatabaseSync, file: string): void {
  db.exec("begin");
  try {
    const expected = readPragma(db, "page_count") * readPragma(db, "page_size");
    // Beside the file itself, where a link to it was named.
    const log = statSync(`${db.location()}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const { size } = statSync(file);
    if (log > 0) return;
    if (size < expected) throwCorrupt(file, `has ${size} of ${expected} bytes`);
    if (expected === 0 && size > 0) throwCorrupt(file, "is not SQLite"); // One byte, to SQLite, is none.
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

function throwCorrupt(file: string, what: string): never {
  throw new BatonError("store_corrupt", {
    message: `${file} is damaged: it ${what}.`,
    path: file,
    hint: "Restore a backup. Nothing was changed; keep the file, much of it can be recovered.",
  });
}
