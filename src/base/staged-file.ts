/**
 * A file that appears when it is whole, or not at all: written beside its place under another name,
 * synced, then put in place in one step, which is synced too. A process that is killed before leaves
 * the part beside (`….partial-…`), and whatever was in the place as it was.
 */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { BatonError } from "./errors.ts";

export interface StagedFile {
  /** Where to write it: an empty file. */
  readonly path: string;
  /** Puts it in its place. */
  place(): void;
  /** Throws away what was written; nothing is done when it is in its place. */
  discard(): void;
}

/** Refuses at once when the place is taken and must not be, or when nothing can be written there. */
export function stageFile(
  target: string,
  options: { readonly replace?: boolean } = {},
): StagedFile {
  const { replace = false } = options;
  const final = resolve(target);
  if (!replace && existsSync(final)) throw fileAlreadyExists(target);
  const path = `${final}.partial-${process.pid}-${randomBytes(4).toString("hex")}`;
  try {
    closeSync(openSync(path, "wx"));
  } catch (error) {
    throw toFileError(error, target);
  }
  return {
    path,
    place() {
      try {
        sync(path);
        if (replace) renameSync(path, final);
        else linkWithoutReplacing(path, final);
        sync(dirname(final));
      } catch (error) {
        throw toFileError(error, target);
      }
    },
    discard: () => rmSync(path, { force: true }),
  };
}

/** Renaming would replace what came there meanwhile; linking refuses. */
function linkWithoutReplacing(path: string, final: string): void {
  try {
    linkSync(path, final);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw fileAlreadyExists(final);
    // A file system without links: the last look has to do.
    if (existsSync(final)) throw fileAlreadyExists(final);
    renameSync(path, final);
    return;
  }
  rmSync(path);
}

/** Until the disk has it. A folder can be opened for this everywhere but on Windows. */
function sync(path: string): void {
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

function fileAlreadyExists(target: string): BatonError {
  return new BatonError("already_exists", {
    message: `${target} exists already. Nothing was changed.`,
    path: target,
    hint: "Name another file, or move that one away. Restoring and exporting take --force.",
  });
}

/** What the file system said about a file that somebody named. */
export function toFileError(error: unknown, file: string): unknown {
  if (error instanceof BatonError) return error;
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new BatonError("store_full", {
      message: `${file}: the disk is full. Nothing of it was kept.`,
      path: file,
      hint: "Free some space, then try again.",
      cause: error,
    });
  }
  return new BatonError("file_unusable", {
    message: `${file}: ${error.message}.`,
    path: file,
    hint: "Check the path, and that the file and its folder may be read and written.",
    details: { system: code },
    cause: error,
  });
}
