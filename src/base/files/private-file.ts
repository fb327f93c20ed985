/**
 * Permissions of what Baton writes: stores, exports, backups and tokens contain a team's data, so only their
 * owner can read them. A file beside a store has the mode of the store, as SQLite's log has, so that a store
 * whose owner shares it with a group stays usable by that group.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, linkSync, openSync, rmSync, statSync } from "node:fs";

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/** The permissions of group and others. */
const SHARED_BITS = 0o077;

/** Returns the permission bits of a file; undefined if it does not exist. */
export function modeOf(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : stats.mode & 0o777;
}

/** Returns the mode of a folder whose files have this mode: who may read them may also list it. */
export const folderMode = (fileMode: number): number => fileMode | ((fileMode & 0o444) >> 2);

/** Returns whether users other than the owner have access. False on Windows, which has no such modes. */
export const isShared = (path: string): boolean =>
  process.platform !== "win32" && ((modeOf(path) ?? 0) & SHARED_BITS) !== 0;

/**
 * Creates an empty file for SQLite if it does not exist, because SQLite itself would create it readable by
 * all users. The file gets its name after it was closed: as soon as it has one, SQLite may open it in this
 * process, and closing a file that SQLite has open drops its locks.
 */
export function createForSqlite(path: string, mode: number = PRIVATE_FILE): void {
  if (existsSync(path)) return;
  const unnamed = `${path}.new-${process.pid}-${randomBytes(4).toString("hex")}`;
  closeSync(openSync(unnamed, "wx", mode));
  try {
    chmodSync(unnamed, mode); // The umask may have removed bits that the store has.
    linkSync(unnamed, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    closeSync(openSync(path, "wx", mode)); // The file system has no hard links.
  } finally {
    rmSync(unnamed, { force: true });
  }
}
