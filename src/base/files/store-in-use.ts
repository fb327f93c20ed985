/**
 * Rejects the file of an open SQLite store where a backup or an export is expected: it is neither, and part
 * of the data is in its write-ahead log. This is detected without opening the file: if the store is open in
 * this process, closing it again would drop every lock that SQLite holds on it (store/sqlite/connection.ts).
 */
import { existsSync, realpathSync } from "node:fs";
import { BatonError } from "../errors.ts";

/**
 * Suffix of SQLite's shared memory file. It exists while the store is open; the last connection deletes it.
 */
const SHARED = "-shm";

/** Throws `file_unusable` if `file` is a SQLite store that is open or was not closed cleanly. */
export function refuseStoreInUse(file: string): void {
  if (!existsSync(file) || !existsSync(`${realpathSync(file)}${SHARED}`)) return;
  throw new BatonError("file_unusable", {
    message: `${file} is a store that is open or was not closed: its ${SHARED} file exists.`,
    path: file,
    hint: "Pass a backup (baton backup) or an export (baton export) instead.",
  });
}
