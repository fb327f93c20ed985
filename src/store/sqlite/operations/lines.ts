/**
 * Walking lines backwards: the records of several chains as one, newest first. Along a chain places
 * rise with positions and with times, so where a chain was at some position or time is found by
 * halving, in as many look-ups as its length has digits (binary ones).
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

export interface ChainLine extends BranchRange {
  readonly chain: number;
}

/** Rows of a chain that are fetched at once when several are merged. */
const FETCH_ROWS = 32;
/** Of more lines than this most records are on one of them: the whole store is walked. */
const MAX_MERGED_LINES = 64;

/** The chains of what is seen: those that have a record. */
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

interface Walk {
  readonly workspace: number;
  readonly lines: readonly ChainLine[];
  /** Only records before this position. */
  readonly before: number;
}

/** Every record of the lines, newest first. Beyond some lines also of others: check them again. */
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
  /** The sequence number to go on from. */
  below: number;
  fetched: PositionedMemory[];
}

function* mergeChains(
  sql: Statements,
  starts: readonly Pick<ChainCursor, "chain" | "below">[],
): Iterable<PositionedMemory> {
  const fetch = (part: ChainCursor): boolean => {
    const rows = sql.memoriesPage.all(part.chain, part.below, FETCH_ROWS).map(memoryOf);
    part.fetched = rows.reverse(); // The next one last, where it is taken from.
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

/** The last sequence number of a chain before a position; 0: there is none. */
const lastBefore = (sql: Statements, chain: number, position: number): number =>
  position === END_OF_BRANCH ? END_OF_BRANCH : lastWhere(sql, chain, ([pos]) => pos < position);

type Mark = readonly [pos: number, seq: number, storedAt: number];

/** The last sequence number of which it is true, of all before it as well, and of none after it. */
function lastWhere(sql: Statements, chain: number, isSo: (mark: Mark) => boolean): number {
  let [, least, most] = [0, 0, scalarOf<number>(sql.chainLength.get(chain)) ?? 0];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    // The next there is: a chain may have been pruned.
    const row = sql.markFrom.get(chain, middle, most) as unknown as Mark | undefined;
    if (row !== undefined && isSo(row)) least = row[1];
    else most = middle - 1;
  }
  return least;
}

/** The last record of each branch, now or at a moment. */
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

/** Whether a record was there at the moment; undefined: it is now. */
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
