/**
 * Reads several chains as one, newest first, and finds their tips. Along a chain, sequence numbers rise with
 * positions and times, so the record at a given position or time is found by binary search.
 */
import { memoryOf, type PositionedMemory } from "../../codecs.ts";
import type { FindTips, Tip } from "../../store.ts";
import {
  type BranchRange,
  END_OF_BRANCH,
  isTraceBranch,
  type Visibility,
} from "../../visibility.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** A visible branch with the key of its chain. */
export interface ChainLine extends BranchRange {
  readonly chain: number;
}

/** Rows fetched per chain when several chains are merged. */
const FETCH_ROWS = 32;
/** With more chains than this, most records are on one of them anyway, so the whole workspace is scanned. */
const MAX_MERGED_LINES = 64;

/** Returns the chains that the reader sees and that have a record. */
export function linesIn(sql: Statements, workspace: number, sight: Visibility): ChainLine[] {
  if (!sight.traces) {
    return sight.lines.flatMap((line) => {
      const chain = scalarOf<number>(sql.chain.get(workspace, line.branch));
      return chain === undefined ? [] : { ...line, chain };
    });
  }
  const upTo = new Map(sight.lines.map((line) => [line.branch, line.upTo]));
  const chains = sql.chains.all(workspace) as unknown as [number, string][];
  return chains.flatMap(([chain, branch]) => {
    const seen = isTraceBranch(branch) ? END_OF_BRANCH : upTo.get(branch);
    return seen === undefined ? [] : { chain, branch, upTo: seen };
  });
}

/** Which records to read. */
interface Walk {
  readonly workspace: number;
  readonly lines: readonly ChainLine[];
  /** Only records before this position. */
  readonly before: number;
}

/**
 * Yields every record of the lines, newest first. With many lines it yields others too, so check each record.
 */
export function* walkBackward(sql: Statements, walk: Walk): Iterable<PositionedMemory> {
  const { workspace, lines, before } = walk;
  if (lines.length > MAX_MERGED_LINES) {
    for (const raw of sql.memoriesBefore.iterate(workspace, before)) yield memoryOf(raw);
    return;
  }
  const [only, ...others] = lines.map((line) => ({
    chain: line.chain,
    below: Math.min(line.upTo, lastBefore(sql, line.chain, before)) + 1,
  }));
  if (only === undefined) return;
  if (others.length > 0) {
    yield* mergeChains(sql, [only, ...others]);
    return;
  }
  for (const raw of sql.memoriesBackward.iterate(only.chain, only.below)) yield memoryOf(raw);
}

interface ChainCursor {
  readonly chain: number;
  /** Continue below this sequence number. */
  below: number;
  fetched: PositionedMemory[];
}

function* mergeChains(
  sql: Statements,
  starts: readonly Pick<ChainCursor, "chain" | "below">[],
): Iterable<PositionedMemory> {
  const fetch = (part: ChainCursor): boolean => {
    const rows = sql.memoriesPage.all(part.chain, part.below, FETCH_ROWS).map(memoryOf);
    part.fetched = rows.reverse(); // The next one is last, for pop().
    part.below = rows[0]?.seq ?? 0;
    return rows.length > 0;
  };
  let parts: ChainCursor[] = starts.map((start) => ({ ...start, fetched: [] })).filter(fetch);
  while (parts.length > 0) {
    const newest = parts.reduce((a, b) => (nextPosition(a) > nextPosition(b) ? a : b));
    yield newest.fetched.pop() as PositionedMemory;
    if (newest.fetched.length === 0 && !fetch(newest)) {
      parts = parts.filter((part) => part !== newest);
    }
  }
}

const nextPosition = (part: ChainCursor): number => part.fetched.at(-1)?.pos ?? 0;

/** Returns the last sequence number of a chain before a position; 0: none. */
const lastBefore = (sql: Statements, chain: number, position: number): number =>
  position === END_OF_BRANCH ? END_OF_BRANCH : lastWhere(sql, chain, ([pos]) => pos < position);

type Mark = readonly [pos: number, seq: number, storedAt: number];

/**
 * Returns the last sequence number for which `isSo` is true; it must be true for all before and none after.
 */
function lastWhere(sql: Statements, chain: number, isSo: (mark: Mark) => boolean): number {
  let [, least, most] = [0, 0, scalarOf<number>(sql.chainLength.get(chain)) ?? 0];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    // The next existing record, because a chain may have been pruned.
    const row = sql.markFrom.get(chain, middle, most) as unknown as Mark | undefined;
    if (row !== undefined && isSo(row)) least = row[1];
    else most = middle - 1;
  }
  return least;
}

/** Returns the last record of each branch, now or at a moment. */
export function findTips(
  sql: Statements,
  workspace: number,
  { branches, moment }: Omit<FindTips, "workspace">,
): Tip[] {
  const isSo = momentTest(sql, workspace, moment);
  return branches.map((branch) => {
    const chain = scalarOf<number>(sql.chain.get(workspace, branch));
    if (chain === undefined) return { seq: 0, memory: "" };
    const seq = isSo === undefined ? END_OF_BRANCH - 1 : lastWhere(sql, chain, isSo);
    const [raw] = sql.memoriesPage.all(chain, seq + 1, 1);
    const last = raw && memoryOf(raw);
    return { seq: last?.seq ?? 0, memory: last?.id ?? "" };
  });
}

/** Returns a function that checks whether a record existed at the moment; undefined for now. */
function momentTest(
  sql: Statements,
  workspace: number,
  moment: FindTips["moment"],
): ((mark: Mark) => boolean) | undefined {
  if (moment === undefined) return undefined;
  if (moment.kind === "time") return ([, , storedAt]) => storedAt <= moment.at;
  const position = scalarOf<number>(sql.memoryPosition.get(workspace, moment.id)) ?? 0;
  return ([pos]) => pos <= position;
}
