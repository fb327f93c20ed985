/**
 * One connection to the file, set up the way our durability promise needs it, and the check that
 * the file is whole before anything is written.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../errors.ts";

/** Before this version concurrent checkpoints could lose commits (sqlite.org/wal.html). */
const OLDEST_SQLITE = [3, 51, 3] as const;

/** Opens the file and changes nothing in it: it may turn out to be somebody else's. */
export function connect(file: string): DatabaseSync {
  refuseTruncated(file);
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    refuseOldSqlite(db);
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
  if (maxBytes > 0) db.exec(`pragma max_page_count = ${Math.ceil(maxBytes / pageSize(db))}`);
}

function pageSize(db: DatabaseSync): number {
  return (db.prepare("pragma page_size").get() as { page_size: number }).page_size;
}

function refuseOldSqlite(db: DatabaseSync): void {
  const { version } = db.prepare("select sqlite_version() as version").get() as { version: string };
  const parts = version.split(".").map(Number);
  for (const [i, least] of OLDEST_SQLITE.entries()) {
    const part = parts[i] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new BatonError("runtime_too_old", {
        message: `This Node.js brings SQLite ${version}; Baton needs ${OLDEST_SQLITE.join(".")}.`,
        hint: "Install Node.js 24.15 or newer.",
      });
    }
  }
}

/**
 * A file shorter than its own header says has lost its end. SQLite would notice only when it reads
 * a lost page, perhaps months later, so we compare now: 100 bytes, no history. With a log beside
 * it the file may rightly be short: an interrupted checkpoint is repaired from the log.
 */
function refuseTruncated(file: string): void {
  // The log first and the size last: another process may fold its log into the file meanwhile.
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const begun = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (begun === 0 || log > 0) return;
  const header = readHeader(file);
  if (!header.toString("latin1").startsWith("SQLite format 3\0")) corrupt(file, "is not SQLite");
  const declared = header.readUInt16BE(16);
  const expected = header.readUInt32BE(28) * (declared === 1 ? 65_536 : declared);
  const size = statSync(file).size;
  if (size < expected) corrupt(file, `has ${size} of ${expected} bytes`);
}

function readHeader(file: string): Buffer {
  const header = Buffer.alloc(100);
  const handle = openSync(file, "r");
  try {
    readSync(handle, header, 0, 100, 0);
  } finally {
    closeSync(handle);
  }
  return header;
}

function corrupt(file: string, what: string): never {
  throw new BatonError("store_corrupt", {
    message: `${file} is damaged: it ${what}.`,
    path: file,
    hint: "Restore a backup. Nothing was changed; keep the file, much of it can be recovered.",
  });
}
