/**
 * Opens a connection to the file with the settings that durability requires, after checking that the file is
 * complete.
 *
 * Baton never opens a file itself that SQLite may have open in this process: when such a file is closed, the
 * system drops every lock that SQLite holds on it, for all connections (sqlite.org/howtocorrupt.html, 2.2).
 * Another process can then assume that it is the last one and delete the log, and what is written to the log
 * from here is lost. SQLite checks again since 3.51; version 3.40, in a command-line shell, was observed to
 * delete it.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../base/errors.ts";

/** Before this version, concurrent checkpoints could lose commits (sqlite.org/wal.html). */
export const MIN_SQLITE_VERSION = [3, 51, 3] as const;

/**
 * Opens the file without changing it, because it may belong to another program. Throws `runtime_too_old` if
 * SQLite is too old, and `store_corrupt` if the file is truncated.
 */
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
 * Configures durability. `synchronous = normal` would acknowledge before the log reaches the disk; macOS
 * needs `fullfsync` for the same guarantee. Checkpoints run in the housekeeper, so that no commit pays for
 * one. `maxBytes` limits the size of the file; 0: no limit.
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
        message: `This Node.js includes SQLite ${version}; Baton requires ${MIN_SQLITE_VERSION.join(".")} or newer.`,
        hint: "Install Node.js 24.15 or newer.",
      });
    }
  }
}

/**
 * Throws if the file is shorter than its header states, because then its end is lost. SQLite refuses a file
 * that lacks whole pages, but accepts a truncated last page and would notice only when it reads the lost
 * part, perhaps months later; so the sizes are compared now. With a log next to it the file may be short for
 * a valid reason: an interrupted checkpoint is repaired from the log.
 *
 * Both sizes are read within one read transaction. Meanwhile no other process can truncate a log that this
 * transaction reads from, or merge the log into the file if it reads from the file alone.
 */
function refuseTruncated(db: DatabaseSync, file: string): void {
  db.exec("begin");
  try {
    const expected = readPragma(db, "page_count") * readPragma(db, "page_size");
    // If `file` is a link, the log is next to the file it points to.
    const log = statSync(`${db.location()}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const { size } = statSync(file);
    if (log > 0) return;
    if (size < expected) throwCorrupt(file, `it has ${size} of ${expected} bytes`);
    // SQLite takes a file of one byte for an empty one.
    if (expected === 0 && size > 0) throwCorrupt(file, "it is not an SQLite file");
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

function throwCorrupt(file: string, what: string): never {
  throw new BatonError("store_corrupt", {
    message: `${file} is damaged: ${what}.`,
    path: file,
    hint: "Restore a backup, and keep the file, because much of it can be recovered; nothing was changed.",
  });
}
