/**
 * Changes to files of others: worked out first, all of them, then written, each in one step. A file
 * keeps its mode, and a link stays a link to it. A file that is read-only, or that somebody changed
 * meanwhile, is left alone. What would be done can be shown as lines that come and go.
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
import { stageFile, toFileError } from "../../base/staged-file.ts";

export interface FileChange {
  readonly file: string;
  /** Undefined: it is not there. */
  readonly before: string | undefined;
  /** Undefined: it goes. */
  readonly after: string | undefined;
}

/** Only of a file whose every byte can be written back. */
export function readTextFile(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw toFileError(error, file);
  }
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) throw unusableFile(file, "it is not in UTF-8");
  return text;
}

export function unusableFile(file: string, why: string, cause?: unknown): BatonError {
  return new BatonError("file_unusable", {
    message: `${file} cannot be read: ${why}. Nothing was changed.`,
    path: file,
    hint: "Mend it, or move it away, then try again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

export const isChange = ({ before, after }: FileChange): boolean => before !== after;

/** None of them is written unless all of them can be. */
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
    const staged = stageFile(target, { replace: true });
    try {
      // Before there is anything in it to read.
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

/** Where a link leads, be there something or not. */
function targetOf(file: string): string {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file;
  if (existsSync(file)) return realpathSync(file);
  return resolve(realpathSync(dirname(file)), readlinkSync(file));
}

/** Its owner does not want it changed; replacing it would do so all the same. */
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
    message: `${file} was changed meanwhile. Nothing was changed by this command.`,
    path: file,
    hint: "Run the command again: it works from what the file says now.",
  });

export interface DiffLine {
  readonly kind: "added" | "removed";
  readonly text: string;
}

/** Lines that come and go, in order. */
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

/** Beyond so many pairs of lines all of them are shown as replaced. */
const MAX_LINE_PAIRS = 4_000_000;

/** By the longest common run of lines. */
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
