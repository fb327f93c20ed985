/**
 * Lines: the branches somebody sees, each up to one of its records. Along a chain positions and
 * times rise, so where a chain was at some moment is found by halving, in one statement.
 */
import { edgeOf, memoryOf } from "../codecs.ts";
import type { RelationEdge } from "../rows.ts";
import type { FindRelations, FindTips, Tip } from "../store.ts";
import { type BranchRange, END_OF_BRANCH, isEdgeVisible, type Visibility } from "../visibility.ts";
import type { Row, Statement } from "./connection.ts";
import type { Statements } from "./statements.ts";

export interface StatementRunner {
  readonly sql: Statements;
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** With the traces' branches, when they are seen. */
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

/** Where a record is; undefined when there is none with that id. */
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
  /** The last of each before this position. */
  readonly before?: number;
  /** The last of each stored by this time. */
  readonly at?: number;
}

/** The last sequence number of each line; 0: there is none. */
export async function lastSeqs({ sql, read }: StatementRunner, of: Lines): Promise<number[]> {
  const { workspace, lines, before = null, at = null } = of;
  const branches = lines.map((line) => line.branch);
  const upTo = lines.map((line) => line.upTo);
  const rows = await read(sql.lastOf, [workspace, branches, upTo, before, at]);
  return rows.map(([seq]) => seq as number);
}

/** The last record of each branch, now or at a moment. */
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
/** What is fetched at once, at most. */
const MAX_PAGE_ROWS = 1_000;

/** The edges at a record whose other end is seen, oldest first. */
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
