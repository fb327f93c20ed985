/** Which file a store is in: by its address, or the one of the folder somebody works in. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BatonError } from "./errors.ts";

const SQLITE = "sqlite:";
/**
 * What is taken for a path without `sqlite:` in front: one that begins as paths do, or a database's name. Not a bare
 * word, a host or an address with a mistake in it (`postgres//…`): a store would be made under that name.
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

export function storeMissing(file: string): BatonError {
  return new BatonError("store_missing", {
    message: `There is no store at ${file} yet.`,
    path: file,
    hint: "Name another with --store sqlite:<path>, or make one: baton agent add <agent> --role <role> (or baton demo).",
  });
}

/** Beside the repository's common git folder, so that all its worktrees share one store. */
export function defaultStoreFile(folder: string): string {
  return join(
    dirname(gitCommonFolder(resolve(folder)) ?? join(resolve(folder), "x")),
    ".baton",
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

/** In a worktree `.git` is a file that names its own folder, which names the common one. */
function worktreeCommonFolder(git: string): string {
  const named = readFileSync(git, "utf8")
    .replace(/^gitdir:\s*/, "")
    .trim();
  const own = resolve(dirname(git), named);
  const common = join(own, "commondir");
  if (statSync(common, { throwIfNoEntry: false }) === undefined) return own;
  return resolve(own, readFileSync(common, "utf8").trim());
}
