/** Finds the file of a SQLite store: from a store address, or the default for a folder. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BatonError } from "../errors.ts";

/** Folder of the default store. */
export const STORE_FOLDER = ".baton";

const SQLITE = "sqlite:";
/**
 * Addresses that count as a path without the prefix `sqlite:`: those that begin like a path or end like a
 * database file. A bare word, a host or a mistyped address (`postgres//…`) does not count, because a store
 * would be created under that name.
 */
const PATH = /^(?:\.{0,2}[/\\]|[a-z]:[/\\])(?!.*:\/\/)|^[\w.][\w./\\ -]*\.(?:db|sqlite3?)$/i;

/** Returns the file that `sqlite:<path>` or a plain path names; undefined for every other address. */
export function fileOf(address: unknown): string | undefined {
  if (typeof address !== "string") return undefined;
  const isNamed = address.startsWith(SQLITE);
  if (!isNamed && !PATH.test(address)) return undefined;
  const file = isNamed ? address.slice(SQLITE.length) : address;
  return file === "" || file.includes("\0") ? undefined : file;
}

/** Returns the error for a command that needs an existing store. */
export function storeMissing(file: string): BatonError {
  return new BatonError("store_missing", {
    message: `No store exists at ${file}.`,
    path: file,
    hint: "Pass --store sqlite:<path> for another store, or create one with baton agent add <agent> --role <role> (or baton demo).",
  });
}

/**
 * Returns the default store of a folder: `.baton/hub.db` beside the common git folder of its repository, so
 * that all worktrees share one store; without git, in the folder itself.
 */
export function defaultStoreFile(folder: string): string {
  return join(
    dirname(gitCommonFolder(resolve(folder)) ?? join(resolve(folder), "x")),
    STORE_FOLDER,
    "hub.db",
  );
}

function gitCommonFolder(folder: string): string | undefined {
  const git = join(folder, ".git");
  const found = statSync(git, { throwIfNoEntry: false });
  if (found?.isDirectory()) return git;
  if (found?.isFile()) return worktreeCommonFolder(git);
  const parent = dirname(folder);
  return parent === folder ? undefined : gitCommonFolder(parent);
}

/**
 * In a worktree, `.git` is a file with the path of the worktree's git folder, which contains the path of the
 * common one.
 */
function worktreeCommonFolder(git: string): string {
  const named = readFileSync(git, "utf8")
    .replace(/^gitdir:\s*/, "")
    .trim();
  const own = resolve(dirname(git), named);
  const common = join(own, "commondir");
  if (statSync(common, { throwIfNoEntry: false }) === undefined) return own;
  return resolve(own, readFileSync(common, "utf8").trim());
}
