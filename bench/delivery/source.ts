/** Which Baton was measured: figures of a source that changed meanwhile are of no version. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/** Changes with any byte of `src`. */
export function sourceDigest(): string {
  const hash = createHash("sha256");
  for (const file of globSync("src/**/*.ts", { cwd: ROOT }).sort()) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 12);
}

/** The commit, and whether `src` is as it was committed. */
export function revision(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--", "src") !== "";
    return `${git("rev-parse", "--short", "HEAD")}${changed ? " with uncommitted changes" : ""}`;
  } catch {
    return "not in a repository";
  }
}
