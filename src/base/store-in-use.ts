/**
 * Refuses to read the file of a SQLite store that is open, where somebody has named it for a backup or
 * an export: it is neither, and part of it is in its log. Found out without opening it: were it open in
 * this process, closing it again would drop every lock SQLite holds there (store/sqlite/connection.ts).
 */
import { existsSync, realpathSync } from "node:fs";
import { BatonError } from "./errors.ts";

/** Shared memory of those who have the store open, removed by the last of them. */
const SHARED = "-shm";

export function refuseStoreInUse(file: string): void {
  if (!existsSync(file) || !existsSync(`${realpathSync(file)}${SHARED}`)) return;
  throw new BatonError("file_unusable", {
    message: `${file} is a store that is open, or was not closed: its ${SHARED} file is there.`,
    path: file,
    hint: "Name a backup (baton backup) or an export (baton export) instead.",
  });
}
