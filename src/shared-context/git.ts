/**
 * Reads project items from a git repository: the current branch, the tracked files and the latest changes.
 * Runs the installed git; changes nothing.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { clip } from "../base/clip.ts";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { ContextBody } from "./items.ts";

/** An item of the `project` section. */
export type ProjectItem = Extract<ContextBody, { readonly section: "project" }>;

const run = promisify(execFile);

/** Enough for the file names of a large project. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const GIT_MS = 30_000;
/** How many are listed by name; beyond that only their number is given. */
const COMMITS = 10;
const FOLDERS = 12;
const TOUCHED = 20;
const LINE = 120;

/** Returns the items `branch`, `files` and `changes`. Throws `file_unusable` without git or a repository. */
export async function projectFromGit(folder = "."): Promise<readonly ProjectItem[]> {
  const [branch, head, files, log, status] = await Promise.all([
    git(folder, ["branch", "--show-current"]),
    git(folder, ["rev-parse", "--short", "--verify", "--quiet", "HEAD"], ""),
    git(folder, ["ls-files", "-z"]),
    git(folder, ["log", `--max-count=${COMMITS}`, "--format=%h %s"], ""),
    git(folder, ["status", "--porcelain", "-z"]),
  ]);
  return [
    branchItem(branch.trim(), head.trim()),
    filesItem(files.split("\0").filter((file) => file !== "")),
    changesItem(
      log.split("\n").filter((line) => line !== ""),
      parseChangedPaths(status),
    ),
  ];
}

const item = (key: string, content: string, data: Record<string, unknown>): ProjectItem => ({
  section: "project",
  key,
  content: clip(content, FORMAT_LIMITS.textLength),
  data,
});

function branchItem(name: string, head: string): ProjectItem {
  const at = head === "" ? "nothing is committed yet" : `at ${head}`;
  const text = name === "" ? `no branch, ${at}` : `${name}, ${at}`;
  return item("branch", text, { name, head });
}

function filesItem(files: readonly string[]): ProjectItem {
  const folders = new Map<string, number>();
  for (const file of files) {
    const [first = "", rest] = file.split("/", 2);
    const folder = rest === undefined ? "." : first;
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  const largest = [...folders].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const named = largest.slice(0, FOLDERS).map(([folder, n]) => `${clip(folder, LINE)} ${n}`);
  const more = largest.length > FOLDERS ? `, and ${largest.length - FOLDERS} more folders` : "";
  const said =
    files.length === 0 ? "no files yet" : `${files.length} files: ${named.join(", ")}${more}`;
  return item("files", said, {
    count: files.length,
    folders: Object.fromEntries(largest.slice(0, FOLDERS)),
  });
}

function changesItem(commits: readonly string[], touched: readonly string[]): ProjectItem {
  const shown = touched.slice(0, TOUCHED).map((file) => clip(file, LINE));
  const more = touched.length > shown.length ? ` and ${touched.length - shown.length} more` : "";
  const now =
    touched.length === 0 ? "nothing uncommitted" : `uncommitted: ${shown.join(", ")}${more}`;
  const last = commits.map((line) => clip(line, LINE));
  const log = last.length === 0 ? "no commits yet" : `last commits: ${last.join("; ")}`;
  return item("changes", `${now}; ${log}`, { commits: last, uncommitted: touched.length });
}

/** Parses `git status -z`: two letters, a space and a path; after a rename, also the previous path. */
function parseChangedPaths(status: string): string[] {
  const parts = status.split("\0").filter((part) => part !== "");
  const touched: string[] = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] ?? "";
    touched.push(part.slice(3));
    if (/^.?[RC]/.test(part)) i++;
  }
  return touched;
}

/** Runs git. `otherwise` is returned if git exits with an error, as in a repository without a commit. */
async function git(folder: string, args: readonly string[], otherwise?: string): Promise<string> {
  try {
    const limits = { maxBuffer: MAX_OUTPUT_BYTES, timeout: GIT_MS, windowsHide: true };
    const { stdout } = await run("git", ["-C", folder, ...args], limits);
    return stdout;
  } catch (error) {
    const { code, stderr = "" } = error as { readonly code?: unknown; readonly stderr?: string };
    const isAnswer =
      typeof code === "number" && !/not a git repository|cannot change to/i.test(stderr);
    if (isAnswer && otherwise !== undefined) return otherwise;
    throw unusable(folder, { code, stderr, cause: error });
  }
}

function unusable(
  folder: string,
  {
    code,
    stderr,
    cause,
  }: { readonly code: unknown; readonly stderr: string; readonly cause: unknown },
): BatonError {
  const said = clip(
    stderr
      .replace(/^fatal: /, "")
      .trim()
      .split("\n")[0] ?? "",
    LINE * 2,
  );
  const missing = code === "ENOENT";
  return new BatonError("file_unusable", {
    message: missing
      ? "git was not found on the PATH."
      : `git failed in the folder ${folder}: ${said === "" ? String(code) : said}.`,
    path: "folder",
    hint: missing
      ? "Install git, or set the project items yourself: baton context set project branch …"
      : "Pass a folder of a git repository, or set the project items yourself.",
    cause,
  });
}
