/** Makes changes to files and folders durable: a file, the names in a folder, a new folder. */
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { PRIVATE_FOLDER } from "./private-file.ts";

/**
 * Waits until the disk has the content of a file, or the names in a folder. Windows is the only platform
 * where a folder cannot be opened for this.
 */
export function syncPath(path: string): void {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch (error) {
    if (process.platform === "win32") return;
    throw error;
  }
  try {
    fsyncSync(handle);
  } catch (error) {
    if (process.platform !== "win32") throw error;
  } finally {
    closeSync(handle);
  }
}

/**
 * Creates a folder and its missing parents, private and durable: each new name is synced in the folder that contains it.
 * Does nothing if the folder exists. If a sync fails, the new folders are deleted, so that a retry syncs
 * again.
 */
export function createFolder(folder: string): void {
  const created = mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  if (created === undefined) return;
  const top = dirname(resolve(created));
  try {
    let parent = resolve(folder);
    do {
      parent = dirname(parent);
      syncPath(parent);
    } while (parent !== top);
  } catch (error) {
    rmSync(created, { recursive: true, force: true });
    throw error;
  }
}
