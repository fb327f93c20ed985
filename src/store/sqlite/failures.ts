/** What SQLite reports, as the errors callers know. One place, so that no code leaks through. */
import { BatonError, type ErrorCode } from "../../base/errors.ts";

/** Primary result codes (sqlite.org/rescode.html). */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const CONSTRAINT = 19;
const NOTADB = 26;

interface SqliteFailure extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

function isSqliteFailure(error: unknown): error is SqliteFailure {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Somebody else has the lock: try again a little later. */
export function isBusy(error: unknown): boolean {
  if (!isSqliteFailure(error)) return false;
  const primary = error.errcode & 0xff;
  return primary === BUSY || primary === LOCKED || primary === PROTOCOL;
}

/** A row that the tables do not allow: its key is taken, or something in it is missing. */
export const isConstraintViolation = (error: unknown): boolean =>
  isSqliteFailure(error) && (error.errcode & 0xff) === CONSTRAINT;

/** It does not begin as a database does. */
export const isNotADatabase = (error: unknown): boolean =>
  isSqliteFailure(error) && (error.errcode & 0xff) === NOTADB;

/** A `BatonError` for what SQLite or the file system said; anything else is our bug, unchanged. */
export function storeFailure(error: unknown, file: string): unknown {
  if (error instanceof BatonError) return error;
  if (isSqliteFailure(error)) return sqliteFailure(error, file);
  return isSystemFailure(error) ? systemFailure(error, file) : error;
}

function sqliteFailure(error: SqliteFailure, file: string): BatonError {
  const say = (code: ErrorCode, message: string, hint: string): BatonError =>
    new BatonError(code, {
      message: `${file}: ${message}`,
      path: file,
      hint,
      details: { sqlite: error.errcode, text: error.errstr },
      cause: error,
    });
  switch (error.errcode & 0xff) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return say("store_busy", "other processes kept the file locked.", "Try again in a moment.");
    case READONLY:
      return say(
        "store_read_only",
        "cannot be written.",
        "Check the file's permissions and owner.",
      );
    case CORRUPT:
    case NOTADB:
      return say(
        "store_corrupt",
        "is damaged or not a Baton store.",
        "Restore a backup. Keep the damaged file: much of it can usually be recovered.",
      );
    case FULL:
      return say(
        "store_full",
        "the disk or the store's size limit is full. Nothing of this write was kept.",
        "Free some space (or raise limits.storeBytes), then try again.",
      );
    case CANTOPEN:
      return say(
        "store_read_only",
        "cannot be opened or created.",
        "Check that the folder exists and may be written.",
      );
    default:
      return say("store_unavailable", `${error.message}.`, "Check the disk, then try again.");
  }
}

function isSystemFailure(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function systemFailure(error: NodeJS.ErrnoException, file: string): BatonError {
  const full = error.code === "ENOSPC" || error.code === "EDQUOT";
  return new BatonError(full ? "store_full" : "store_read_only", {
    message: `${file}: ${error.message}.`,
    path: file,
    hint: full
      ? "Free some space, then try again."
      : "Check that the folder exists and may be written, or name another with sqlite:<path>.",
    details: { system: error.code },
    cause: error,
  });
}
