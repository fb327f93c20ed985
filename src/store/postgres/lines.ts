/**
 * Lines: the branches somebody sees, each up to one of its records. Along a chain positions and
 * times rise, so where a chain was at some moment is found by halving, in one statement.
 */
import { edgeOf, memoryOf } from "../codecs.ts";
import type { RelationEdge } from "../rows.ts";
import { isSeenBeyond, type Line, type Sight, TIP } from "../sight.ts";
import type { FindRelations, FindTips, Tip } from "../store.ts";
import type { Row, Statement } from "./connection.ts";
import type { Statements } from "./statements.ts";

export interface Reader {
  readonly sql: Statements;
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** With the traces' branches, when they are seen. */
export async function linesIn(
  { sql, read }: Reader,
  workspace: string,
  sight: Sight,
): Promise<readonly Line[]> {
  if (!sight.traces) return sight.lines;
  const traces = await read(sql.traceBranches, [workspace]);
  return [...sight.lines, ...traces.map(([branch]) => ({ branch: branch as string, upTo: TIP }))];
}

/** Where a record is; undefined when there is none with that id. */
export async function positionOf(
  { sql, read }: Reader,
  workspace: string,
  memory: string,
): Promise<number | undefined> {
  const [row] = await read(sql.position, [workspace, memory]);
  return (row?.[0] as number | null | undefined) ?? undefined;
}

interface Lines {
  readonly workspace: string;
  readonly lines: readonly Line[];
  /** The last of each before this position. */
  readonly before?: number;
  /** The last of each stored by this time. */
  readonly at?: number;
}

/** The last sequence number of each line; 0: there is none. */
export async function lastOf({ sql, read }: Reader, of: Lines): Promise<number[]> {
  const { workspace, lines, before = null, at = null } = of;
  const branches = lines.map((line) => line.branch);
  const upTo = lines.map((line) => line.upTo);
  const rows = await read(sql.lastOf, [workspace, branches, upTo, before, at]);
  return rows.map(([seq]) => seq as number);
}

/** The last record of each branch, now or at a moment. */
export async function findTips(
  reader: Reader,
  { workspace, branches, moment }: FindTips,
): Promise<Tip[]> {
  const { sql, read } = reader;
  const lines = branches.map((branch) => ({ branch, upTo: TIP }));
  const upTo = await upToThen(reader, { workspace, lines }, moment);
  const rows = await read(sql.tips, [workspace, branches, upTo]);
  return rows.map(([seq, memory]) => ({ seq: seq as number, memory: memory as string }));
}

async function upToThen(
  reader: Reader,
  of: Lines,
  moment: FindTips["moment"],
): Promise<readonly number[]> {
  switch (moment?.kind) {
    case undefined:
      return of.lines.map((line) => line.upTo);
    case "time":
      return lastOf(reader, { ...of, at: moment.at });
    case "memory": {
      const position = (await positionOf(reader, of.workspace, moment.id)) ?? 0;
      return lastOf(reader, { ...of, before: position + 1 });
    }
  }
}

const EDGE_WIDTH = 5;
/** What is fetched at once, at most. */
const MOST = 1_000;

/** The edges at a record whose other end is seen, oldest first. */
export async function findRelations(
  { sql, read }: Reader,
  operation: FindRelations,
): Promise<RelationEdge[]> {
  const { workspace, memory, direction, kinds = null, at = null, limit, sight } = operation;
  const statement = direction === "in" ? sql.beyondIn : sql.beyondOut;
  const found: RelationEdge[] = [];
  let after: readonly unknown[] = [0, 0];
  for (let size = limit; found.length < limit; size = Math.max(size, Math.min(size * 2, MOST))) {
    const rows = await read(statement, [workspace, memory, kinds, at, size, ...after]);
    const seen = rows.filter((row) =>
      isSeenBeyond(memoryOf(row.slice(EDGE_WIDTH + 2)), direction, sight),
    );
    found.push(...seen.map(edgeOf));
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    after = last.slice(EDGE_WIDTH, EDGE_WIDTH + 2);
  }
  return found.slice(0, limit);
}
