/**
 * Merges the log into the file (a checkpoint), and stops doing so after an I/O error.
 *
 * A checkpoint that readers or writers make incomplete advances SQLite's mark of merged frames without a
 * sync; the sync of a later checkpoint covers its pages too. If that sync fails, the system drops the pages,
 * but the mark stays: the next checkpoint would copy newer frames only and restart the log, and the dropped
 * pages would be lost. So after an I/O error no process merges the log, on close neither, until a process
 * that has the store to itself has read the log from its start and merged all of it (`recoverLog`).
 *
 * A file next to the store informs every process. It does not have to survive a power cut: the mark is in
 * shared memory, so after a restart of the machine SQLite reads the whole log anyway.
 */
import { existsSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../base/errors.ts";
import { isBusy, isIoError } from "./failures.ts";

/** Suffix of the file that exists while the log must not be merged. */
export const UNMERGED = "-unmerged";

/** The result of a checkpoint. `stopped`: an earlier one failed, so that the log is kept. */
export type MergeResult = "merged" | "busy" | "stopped";

/**
 * Runs a checkpoint. Throws `store_unavailable` if it fails with an I/O error; after that the log is kept.
 */
export function mergeLog(db: DatabaseSync, mode: "passive" | "restart" | "truncate"): MergeResult {
  const file = locationOf(db);
  if (isLogKept(file)) return "stopped";
  try {
    const { busy } = db.prepare(`pragma wal_checkpoint(${mode})`).get() as { busy: number };
    return busy === 0 ? "merged" : "busy";
  } catch (error) {
    if (!isIoError(error)) throw error;
    keepLog(file, error);
    throw logKeptError(file, error);
  }
}

/** Returns whether a checkpoint failed, so that the log of the file is kept. */
export const isLogKept = (file: string): boolean => existsSync(`${file}${UNMERGED}`);

/** Returns the error that says that the log is kept, and what to do. */
export const logKeptError = (file: string, cause?: unknown): BatonError =>
  new BatonError("store_unavailable", {
    message: `${file}: the disk failed while the write-ahead log was merged into the file. Nothing is lost, but the log is kept and grows.`,
    path: file,
    hint: "Check the disk, then close every process that uses the store and open it again.",
    cause,
  });

function keepLog(file: string, error: unknown): void {
  const line = `${new Date().toISOString()} ${(error as Error).message}\n`;
  writeFileSync(`${file}${UNMERGED}`, line, { mode: 0o600 });
}

/**
 * Merges a log that was kept, if no other connection has the store open. In exclusive mode SQLite builds its
 * index of the log in memory, from the first frame, and trusts no mark. Returns false if the log is still kept.
 */
export function recoverLog(given: string): boolean {
  if (!existsSync(given)) return true;
  const file = realpathSync(given);
  if (!isLogKept(file)) return true;
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("pragma locking_mode = exclusive; pragma synchronous = full; pragma fullfsync = on");
    db.exec("select count(*) from sqlite_schema");
    db.exec("pragma wal_checkpoint(truncate)");
    rmSync(`${file}${UNMERGED}`);
    return true;
  } catch (error) {
    if (isBusy(error) || isIoError(error)) return false;
    throw error;
  } finally {
    db.close();
  }
}

/** Connections that the end of the process closes if the program does not. */
const connections = new Set<WeakRef<DatabaseSync>>();

/** Closes a connection at the end of the process at the latest, like `closeConnection`. */
export function closeAtExit(db: DatabaseSync): void {
  if (connections.size === 0) process.on("exit", closeAll);
  connections.add(new WeakRef(db));
}

function closeAll(): void {
  for (const connection of connections) {
    const db = connection.deref();
    if (db?.isOpen && isLogKept(locationOf(db))) closeKeepingLog(db);
  }
}

/** Closes a connection. SQLite merges the log when the last one closes; a log that must be kept is not. */
export function closeConnection(db: DatabaseSync): void {
  for (const connection of connections) {
    const each = connection.deref();
    if (each === db || each === undefined) connections.delete(connection);
  }
  if (connections.size === 0) process.off("exit", closeAll);
  if (isLogKept(locationOf(db))) closeKeepingLog(db).close();
  else db.close();
}

/**
 * Closes a connection and returns another one, which is read-only: it is not allowed to merge the log, and as
 * long as it is open, the others are not the last to close.
 */
function closeKeepingLog(db: DatabaseSync): DatabaseSync {
  const guard = new DatabaseSync(locationOf(db), { readOnly: true });
  guard.exec("select count(*) from sqlite_schema");
  db.close();
  return guard;
}

/** Returns the path of the file itself: if the store was opened by a link, the log is not next to the link. */
const locationOf = (db: DatabaseSync): string => db.location() as string;
