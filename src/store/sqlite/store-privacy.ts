/**
 * Keeps a store private to its user. A store in a folder of another user is refused, as git refuses
 * such a repository: its owner can replace what agents read. So is a store that git tracks: it would be pushed
 * with the code, and a cloned repository could bring memories that no agent of the team wrote. The environment
 * variable BATON_SAFE_FOLDERS lists folders in which both are accepted.
 */
import { execFile } from "node:child_process";
import { existsSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { BatonError } from "../../base/errors.ts";
import { PRIVATE_FILE } from "../../base/files/private-file.ts";
import { STORE_FOLDER } from "../../base/files/store-file.ts";

const run = promisify(execFile);

/** A git that does not answer must not keep a store from opening. */
const GIT_MS = 5_000;

/**
 * Throws `store_unsafe` if the store's folder or file belongs to another user, or git tracks the file.
 * `safeFolders`: folders that are not checked; `*` for all.
 */
export async function refuseUnsafeStore(
  file: string,
  safeFolders: readonly string[] = [],
): Promise<void> {
  const folder = dirname(file);
  if (!existsSync(folder) || isListed(folder, safeFolders)) return;
  refuseOtherOwner(folder, folder);
  refuseOtherOwner(file, folder);
  if (isInRepository(folder) && (await isTracked(file))) throw tracked(file, folder);
}

/** Adds a .gitignore to a folder named .baton, so that git never lists what is in it. */
export function ignoreInGit(file: string): void {
  const folder = dirname(file);
  const ignore = join(folder, ".gitignore");
  if (basename(folder) !== STORE_FOLDER || existsSync(ignore)) return;
  try {
    writeFileSync(ignore, "*\n", { flag: "wx", mode: PRIVATE_FILE });
  } catch {
    // Another process has just written it, or the folder is not writable.
  }
}

function isListed(folder: string, listed: readonly string[]): boolean {
  const names = [resolve(folder), realpathSync(folder)];
  return listed.some((each) => each === "*" || names.includes(resolve(each)));
}

function refuseOtherOwner(path: string, folder: string): void {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid;
  const user = process.geteuid?.(); // Undefined on Windows.
  if (owner === undefined || user === undefined || owner === user) return;
  throw new BatonError("store_unsafe", {
    message: `${path} belongs to another user (uid ${owner}), who can change what this store returns.`,
    path,
    hint: `Use a store in a folder of your own; to trust this one, set BATON_SAFE_FOLDERS=${folder}.`,
    details: { why: "owner", owner },
  });
}

function isInRepository(folder: string): boolean {
  if (existsSync(join(folder, ".git"))) return true;
  const parent = dirname(folder);
  return parent !== folder && isInRepository(parent);
}

/** Returns whether git has the file in its index; false without git. */
async function isTracked(file: string): Promise<boolean> {
  const query = ["ls-files", "--error-unmatch", "--", basename(file)];
  try {
    await run("git", ["-C", dirname(file), "--literal-pathspecs", ...query], {
      timeout: GIT_MS,
      windowsHide: true,
    });
    return true;
  } catch {
    return false;
  }
}

function tracked(file: string, folder: string): BatonError {
  return new BatonError("store_unsafe", {
    message: `${file} is tracked by git, so its content is published with the repository.`,
    path: file,
    hint: `Stop tracking it (git rm --cached ${file}) and add it to .gitignore; to use it as it is, set BATON_SAFE_FOLDERS=${folder}.`,
    details: { why: "tracked" },
  });
}
