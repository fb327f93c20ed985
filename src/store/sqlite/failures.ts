/**
 * Converts errors of SQLite and the file system to `BatonError`s, in one place, so that no raw code gets out.
 */
import { BatonError, type ErrorCode } from "../../base/errors.ts";

// Primary result codes (sqlite.org/rescode.html).
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
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

/** Returns whether an error is one of SQLite. */
export function isSqliteFailure(error: unknown): error is SqliteFailure {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Returns whether another connection has the lock, so that a retry can succeed. */
export function isBusy(error: unknown): boolean {
  if (!isSqliteFailure(error)) return false;
  const primary = error.errcode & 0xff;
  return primary === BUSY || primary === LOCKED || primary === PROTOCOL;
}

/** Returns whether the disk failed: a read, write or sync returned an error. */
export const isIoError = (error: unknown): boolean =>
  isSqliteFailure(error) && (error.errcode & 0xff) === IOERR;

/** Returns whether a table constraint refused the row: its key is taken, or a value is missing. */
export const isConstraintViolation = (error: unknown): boolean =>
  isSqliteFailure(error) && (error.errcode & 0xff) === CONSTRAINT;

/** Returns whether SQLite found a page that it cannot read. */
export const isDamage = (error: unknown): error is Error =>
  isSqliteFailure(error) && [CORRUPT, NOTADB].includes(error.errcode & 0xff);

/** Returns whether the file does not start like an SQLite database. */
export const isNotADatabase = (error: unknown): boolean =>
  isSqliteFailure(error) && (error.errcode & 0xff) === NOTADB;

/**
 * Returns a `BatonError` for an error of SQLite or the file system; any other error is a bug and is
 * unchanged.
 */
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
      return say("store_busy", "other processes keep the file locked.", "Retry in a moment.");
    case READONLY:
      return say(
        "store_read_only",
        "the file cannot be written.",
        "Check the file's permissions and owner.",
      );
    case CORRUPT:
    case NOTADB:
      return say(
        "store_corrupt",
        "the file is damaged or not a Baton store.",
        "Restore a backup, and keep the damaged file, because much of it can usually be recovered.",
      );
    case FULL:
      return say(
        "store_full",
        "the disk is full or the store has reached its size limit, and nothing of this write was stored.",
        "Free disk space or raise limits.storeBytes, then retry.",
      );
    case CANTOPEN:
      return say(
        "store_read_only",
        "the file cannot be opened or created.",
        "Check that the folder exists and is writable.",
      );
    default:
      return say("store_unavailable", `${error.message}.`, "Check the disk, then retry.");
  }
}

function isSystemFailure(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function systemFailure(error: NodeJS.ErrnoException, file: string): BatonError {
  const [code, hint] = systemFailures[error.code ?? ""] ?? [
    "store_read_only",
    "Check that the folder exists and is writable, or choose another file with sqlite:<path>.",
  ];
  return new BatonError(code, {
    message: `${file}: ${error.message}.`,
    path: file,
    hint,
    details: { system: error.code },
    cause: error,
  });
}

const systemFailures: Readonly<Record<string, readonly [code: ErrorCode, hint: string]>> = {
  ENOSPC: ["store_full", "Free disk space, then retry."],
  EDQUOT: ["store_full", "Free disk space, then retry."],
  EIO: ["store_unavailable", "Check the disk, then retry."],
};

/**
 * Returns the error of a commit. If the disk failed, it is unknown whether the write is stored: it is not part
 * of the open store, but the log may contain it when the store is opened again. The next commit that succeeds
 * replaces it in the log, so a retry in a running process never stores it twice.
 */
export function commitFailure(error: unknown, file: string): unknown {
  const failure = storeFailure(error, file);
  if (!isIoError(error) || !(failure instanceof BatonError)) return failure;
  const { code, message, path, details } = failure;
  return new BatonError(code, {
    message: `${message} The write may or may not have been stored.`,
    path,
    hint: "Check the disk, then retry: as long as this process runs, the write is not stored twice. After a restart, check first whether it exists.",
    details: { ...details, uncertain: true },
    cause: error,
  });
}
