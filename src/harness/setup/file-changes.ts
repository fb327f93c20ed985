/**
 * Applies changes to settings files of other programs. All changes are computed first, then each file is
 * written in one step. Files keep their mode, and symbolic links stay links. A file that is read-only or
 * was changed in the meantime is not touched. Changes can be shown as a diff.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { BatonError } from "../../base/errors.ts";
import { stageFile, toFileError } from "../../base/files/staged-file.ts";

/** The content of a file before and after a change. */
export interface FileChange {
  readonly file: string;
  /** Undefined: the file does not exist. */
  readonly before: string | undefined;
  /** Undefined: the file is deleted. */
  readonly after: string | undefined;
}

/** Returns the text of a file, or undefined if it does not exist; throws if it is not valid UTF-8. */
export function readTextFile(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw toFileError(error, file);
  }
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) throw unusableFile(file, "it is not valid UTF-8");
  return text;
}

/** Returns the error for a file that cannot be parsed. */
export function unusableFile(file: string, why: string, cause?: unknown): BatonError {
  return new BatonError("file_unusable", {
    message: `${file} cannot be read: ${why}. Nothing was changed.`,
    path: file,
    hint: "Fix or move the file, then run the command again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Returns whether the change has any effect. */
export const isChange = ({ before, after }: FileChange): boolean => before !== after;

/** Writes all changes; throws before the first write if any file changed or is read-only. */
export function writeChanges(changes: readonly FileChange[]): void {
  for (const { file, before } of changes) {
    if (readTextFile(file) !== before) throw changedMeanwhile(file);
    refuseReadOnly(file);
  }
  for (const change of changes) writeChange(change);
}

function writeChange({ file, after }: FileChange): void {
  try {
    const target = targetOf(file);
    if (after === undefined) {
      rmSync(target, { force: true });
      return;
    }
    mkdirSync(dirname(target), { recursive: true });
    const mode = existsSync(target) ? statSync(target).mode : undefined;
    // A project's settings are for all its users, so the umask decides about a new file.
    const staged = stageFile(target, { replace: true, mode: 0o666 });
    try {
      // Set before the content is written, so that it is never readable with a wider mode.
      if (mode !== undefined) chmodSync(staged.path, mode & 0o7777);
      writeFileSync(staged.path, after);
      staged.place();
    } finally {
      staged.discard();
    }
  } catch (error) {
    throw toFileError(error, file);
  }
}

/** Returns the target of a symbolic link, whether or not it exists. */
function targetOf(file: string): string {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file;
  if (existsSync(file)) return realpathSync(file);
  return resolve(realpathSync(dirname(file)), readlinkSync(file));
}

/** Throws for a read-only file, because replacing it would bypass its permissions. */
function refuseReadOnly(file: string): void {
  if (!existsSync(file)) return;
  try {
    accessSync(file, constants.W_OK);
    if ((statSync(file).mode & 0o222) !== 0) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw toFileError(error, file);
  }
  throw new BatonError("file_unusable", {
    message: `${file} is read-only. Nothing was changed.`,
    path: file,
    hint: "Make it writable, or add by hand what --dry-run shows.",
  });
}

const changedMeanwhile = (file: string): BatonError =>
  new BatonError("document_stale", {
    message: `${file} was changed by another program in the meantime. Nothing was changed by this command.`,
    path: file,
    hint: "Run the command again; it uses the current content of the file.",
  });

/** One line of a diff. */
export interface DiffLine {
  readonly kind: "added" | "removed";
  readonly text: string;
}

/** Returns the removed and added lines, in order. */
export function diffOf({ before = "", after = "" }: FileChange): DiffLine[] {
  const [old, now] = [before, after].map((text) => (text === "" ? [] : text.split("\n"))) as [
    string[],
    string[],
  ];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  let tail = 0;
  const left = Math.min(old.length, now.length) - same;
  while (tail < left && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  return diffLines(old.slice(same, old.length - tail), now.slice(same, now.length - tail));
}

/** Above this number of line pairs, all lines are shown as replaced. */
const MAX_LINE_PAIRS = 4_000_000;

/** Computes the diff by the longest common subsequence of lines. */
function diffLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (old.length * now.length > MAX_LINE_PAIRS) return [...old.map(removed), ...now.map(added)];
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    const row = common[i] as Uint32Array;
    for (let j = now.length - 1; j >= 0; j--) {
      row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      i++;
      j++;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(old[i++] as string));
    } else lines.push(added(now[j++] as string));
  }
  return lines;
}
