/**
 * Changes to files of others: worked out first, all of them, then written, each in one step. A file
 * keeps its mode, and a link stays a link to it. What would be done can be shown as lines that come
 * and go.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { fileFailure, stageFile } from "../../staged-file.ts";

export interface FileChange {
  readonly file: string;
  /** Undefined: it is not there. */
  readonly before: string | undefined;
  /** Undefined: it goes. */
  readonly after: string | undefined;
}

export function textOf(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  } catch (error) {
    throw fileFailure(error, file);
  }
}

export const isChange = ({ before, after }: FileChange): boolean => before !== after;

export function writeChange({ file, after }: FileChange): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  if (after === undefined) {
    rmSync(target, { force: true });
    return;
  }
  mkdirSync(dirname(target), { recursive: true });
  const mode = existsSync(target) ? statSync(target).mode : undefined;
  const staged = stageFile(target, { replace: true });
  try {
    writeFileSync(staged.path, after);
    if (mode !== undefined) chmodSync(staged.path, mode & 0o7777);
    staged.place();
  } catch (error) {
    throw fileFailure(error, file);
  } finally {
    staged.discard();
  }
}

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
  return between(old.slice(same, old.length - tail), now.slice(same, now.length - tail));
}

/** Beyond so many pairs of lines all of them are shown as replaced. */
const MOST_PAIRS = 4_000_000;

/** By the longest common run of lines. */
function between(old: readonly string[], now: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (old.length * now.length > MOST_PAIRS) return [...old.map(removed), ...now.map(added)];
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
