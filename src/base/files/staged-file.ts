/**
 * Writes a file atomically: it appears complete or not at all. The content is written to another name in the
 * same folder, synced, then moved into place in one step that is synced too. A process killed before that
 * leaves the partial file (`….partial-…`), and the target as it was.
 */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { BatonError, trimFullStop } from "../errors.ts";
import { PRIVATE_FILE } from "./private-file.ts";
import { syncPath } from "./sync-path.ts";

/** A file that is being written and is not in place yet. */
export interface StagedFile {
  /** The path to write to: an empty file. */
  readonly path: string;
  /** Moves the file into place. */
  place(): void;
  /** Deletes what was written; does nothing if the file is already in place. */
  discard(): void;
}

/**
 * Creates the partial file, readable by its owner only (default; `mode` sets other permissions, limited by
 * the umask). Throws `already_exists` if the target exists (default; `replace: true` allows it), or
 * `file_unusable` if the folder is not writable.
 */
export function stageFile(
  target: string,
  options: { readonly replace?: boolean; readonly mode?: number } = {},
): StagedFile {
  const { replace = false, mode = PRIVATE_FILE } = options;
  const final = resolve(target);
  if (!replace && existsSync(final)) throw fileAlreadyExists(target);
  const path = `${final}.partial-${process.pid}-${randomBytes(4).toString("hex")}`;
  try {
    closeSync(openSync(path, "wx", mode));
  } catch (error) {
    throw toFileError(error, target);
  }
  return {
    path,
    place() {
      try {
        syncPath(path);
        if (replace) renameSync(path, final);
        else linkWithoutReplacing(path, final);
        syncPath(dirname(final));
      } catch (error) {
        throw toFileError(error, target);
      }
    },
    discard: () => rmSync(path, { force: true }),
  };
}

/** Links instead of renaming: renaming would replace a file created in the meantime, linking fails. */
function linkWithoutReplacing(path: string, final: string): void {
  try {
    linkSync(path, final);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw fileAlreadyExists(final);
    // The file system has no hard links: check once more, then rename.
    if (existsSync(final)) throw fileAlreadyExists(final);
    renameSync(path, final);
    return;
  }
  rmSync(path);
}

function fileAlreadyExists(target: string): BatonError {
  return new BatonError("already_exists", {
    message: `${target} exists already; nothing was changed.`,
    path: target,
    hint: "Choose another file or move the existing one; restore and export can replace it with --force.",
  });
}

/**
 * Converts an error of the file system about `file` to a `BatonError`: `store_full` if the disk is full,
 * otherwise `file_unusable`. Returns every other error unchanged.
 */
export function toFileError(error: unknown, file: string): unknown {
  if (error instanceof BatonError) return error;
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new BatonError("store_full", {
      message: `${file}: the disk is full, and nothing was written.`,
      path: file,
      hint: "Free some disk space, then retry.",
      cause: error,
    });
  }
  return new BatonError("file_unusable", {
    message: `${file}: ${trimFullStop(error.message)}.`,
    path: file,
    hint: "Check the path, and the permissions of the file and its folder.",
    details: { system: code },
    cause: error,
  });
}
