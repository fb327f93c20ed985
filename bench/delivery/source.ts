/** Identifies the measured version of Baton, to detect that `src` changed during a run. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/** Returns a digest of all sources in `src`. */
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

/** Returns the commit, and whether `src` has uncommitted changes. */
export function revision(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--", "src") !== "";
    return `${git("rev-parse", "--short", "HEAD")}${changed ? " with uncommitted changes" : ""}`;
  } catch {
    return "(not a git repository)";
  }
}
