/**
 * Reads along lines: the branches a reader sees, each up to one of its records. Positions and times increase
 * along a chain, so the end of a chain at some moment is found by binary search, in one statement.
 */
import { edgeOf, memoryOf } from "../codecs.ts";
import type { RelationEdge } from "../rows.ts";
import type { FindRelations, FindTips, Tip } from "../store.ts";
import { type BranchRange, END_OF_BRANCH, isEdgeVisible, type Visibility } from "../visibility.ts";
import type { Row, Statement } from "./connection.ts";
import type { Statements } from "./statements.ts";

/** Runs prepared statements, on a pool or within a transaction. */
export interface StatementRunner {
  readonly sql: Statements;
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** Returns the lines of a reader, including the branches of traces if it sees them. */
export async function linesIn(
  { sql, read }: StatementRunner,
  workspace: string,
  sight: Visibility,
): Promise<readonly BranchRange[]> {
  if (!sight.traces) return sight.lines;
  const traces = await read(sql.traceBranches, [workspace]);
  return [
    ...sight.lines,
    ...traces.map(([branch]) => ({ branch: branch as string, upTo: END_OF_BRANCH })),
  ];
}

/** Returns the position of a record; undefined if no record has this id. */
export async function positionOf(
  { sql, read }: StatementRunner,
  workspace: string,
  memory: string,
): Promise<number | undefined> {
  const [row] = await read(sql.position, [workspace, memory]);
  return (row?.[0] as number | null | undefined) ?? undefined;
}

interface Lines {
  readonly workspace: string;
  readonly lines: readonly BranchRange[];
  /** Only records before this position. */
  readonly before?: number;
  /** Only records stored at or before this time. */
  readonly at?: number;
}

/** Returns the last sequence number of each line; 0 if it has none. */
export async function lastSeqs({ sql, read }: StatementRunner, of: Lines): Promise<number[]> {
  const { workspace, lines, before = null, at = null } = of;
  const branches = lines.map((line) => line.branch);
  const upTo = lines.map((line) => line.upTo);
  const rows = await read(sql.lastOf, [workspace, branches, upTo, before, at]);
  return rows.map(([seq]) => seq as number);
}

/** Returns the last record of each branch, now or at a moment. */
export async function findTips(
  reader: StatementRunner,
  { workspace, branches, moment }: FindTips,
): Promise<Tip[]> {
  const { sql, read } = reader;
  const lines = branches.map((branch) => ({ branch, upTo: END_OF_BRANCH }));
  const upTo = await upToMoment(reader, { workspace, lines }, moment);
  const rows = await read(sql.tips, [workspace, branches, upTo]);
  return rows.map(([seq, memory]) => ({ seq: seq as number, memory: memory as string }));
}

async function upToMoment(
  reader: StatementRunner,
  of: Lines,
  moment: FindTips["moment"],
): Promise<readonly number[]> {
  switch (moment?.kind) {
    case undefined:
      return of.lines.map((line) => line.upTo);
    case "time":
      return lastSeqs(reader, { ...of, at: moment.at });
    case "memory": {
      const position = (await positionOf(reader, of.workspace, moment.id)) ?? 0;
      return lastSeqs(reader, { ...of, before: position + 1 });
    }
  }
}

const EDGE_WIDTH = 5;
/** Maximum number of rows fetched at once. */
const MAX_PAGE_ROWS = 1_000;

/** Returns the relations of a record of which the reader sees the other end, oldest first. */
export async function findRelations(
  { sql, read }: StatementRunner,
  operation: FindRelations,
): Promise<RelationEdge[]> {
  const { workspace, memory, direction, kinds = null, at = null, limit, sight } = operation;
  const statement = direction === "in" ? sql.beyondIn : sql.beyondOut;
  const found: RelationEdge[] = [];
  let after: readonly unknown[] = [0, 0];
  for (
    let size = limit;
    found.length < limit;
    size = Math.max(size, Math.min(size * 2, MAX_PAGE_ROWS))
  ) {
    const rows = await read(statement, [workspace, memory, kinds, at, size, ...after]);
    const seen = rows.filter((row) =>
      isEdgeVisible(memoryOf(row.slice(EDGE_WIDTH + 2)), direction, sight),
    );
    found.push(...seen.map(edgeOf));
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    after = last.slice(EDGE_WIDTH, EDGE_WIDTH + 2);
  }
  return found.slice(0, limit);
}
