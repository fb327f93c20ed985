/**
 * Everything a workspace holds, as rows that one store gives and another takes: what an export
 * reads and an import writes. Rows travel as they stand; what a store derives from them (names,
 * edges, positions, the index) it derives again.
 */
import { edgesOf, type RecordReferences } from "./edges.ts";
import type {
  AgentRow,
  AttemptRow,
  DeliveryRow,
  EntryRow,
  EnvelopeRow,
  EventRow,
  MemoryRow,
  RelationEdge,
} from "./rows.ts";
import type { ChainHead, Problem, VerifyReport } from "./verify-report.ts";

/** An envelope's time is that of its handoff record. */
export type ArchivedEnvelope = Omit<EnvelopeRow, "storedAt">;

export interface ArchivedRows {
  /** By id. */
  readonly agent: AgentRow;
  /** In the order of storing, whatever branch it is on. */
  readonly memory: MemoryRow;
  /** In the order of their records. */
  readonly envelope: ArchivedEnvelope;
  /** By id. */
  readonly delivery: DeliveryRow;
  /** By delivery, then in the order of the tries. */
  readonly attempt: AttemptRow;
  /** By kind, then by name. */
  readonly entry: EntryRow;
  /** By number. */
  readonly event: EventRow;
}

export type RowKind = keyof ArchivedRows;

/** The order in which they come: a row stands after all it refers to. */
export const ROW_KINDS = [
  "agent",
  "memory",
  "envelope",
  "delivery",
  "attempt",
  "entry",
  "event",
] as const satisfies readonly RowKind[];

export type ArchivedRow = {
  readonly [Kind in RowKind]: { readonly kind: Kind; readonly row: ArchivedRows[Kind] };
}[RowKind];

export type RowCounts = Readonly<Record<RowKind, number>>;

/** What is known before the first row. */
export interface ArchiveSummary {
  readonly counts: RowCounts;
  /** By branch. */
  readonly heads: readonly ChainHead[];
  /** The furthest place in line: whatever is sent later comes after it. */
  readonly lastPlace: number;
}

export interface Archive {
  readonly summary: ArchiveSummary;
  /** Read once, in the order of `ROW_KINDS`. What it throws ends the import, which leaves nothing. */
  readonly rows: AsyncIterable<ArchivedRow>;
}

/** What an export begins with, then its rows: all of one moment, however long the reading takes. */
export type ExportItem =
  | { readonly kind: "summary"; readonly summary: ArchiveSummary }
  | ArchivedRow;

export interface ImportProgress {
  readonly phase: "writing" | "verifying";
  readonly done: number;
  readonly total: number;
}

export type ImportOutcome =
  /** All of it is there and was verified, before anybody could see it. */
  | { readonly kind: "imported"; readonly report: VerifyReport; readonly eventsMovedBy: number }
  /** The workspace has this very history already, perhaps with more after it. */
  | { readonly kind: "already_there" }
  /** The workspace holds something else. */
  | { readonly kind: "not_empty"; readonly records: number }
  /** The rows contradict each other, or their own hashes. */
  | { readonly kind: "unsound"; readonly problems: readonly Problem[] };

export interface BackupProgress {
  readonly phase: "copying" | "verifying";
  readonly done: number;
  readonly total: number;
}

/** One workspace of a copy, as it was verified there. */
export interface CopiedWorkspace extends Omit<VerifyReport, "problems"> {
  readonly workspace: string;
}

export type BackupOutcome =
  | {
      readonly kind: "copied";
      readonly bytes: number;
      readonly sha256: string;
      readonly workspaces: readonly CopiedWorkspace[];
    }
  /** This store is no file that could be copied: its export is its backup. */
  | { readonly kind: "no_file" };

/** In the order of UTF-8, in which databases sort: not that of JavaScript, beyond the basic plane. */
export const byCodePoint = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** How many rows are read or written before others get a turn. */
export const SLICE = 128;

/** Rows of a kind, one after the other, with a turn of the event loop for others in between. */
export async function* inSlices<Row, As>(
  rows: Iterable<Row>,
  as: (row: Row) => As,
): AsyncGenerator<As> {
  let n = 0;
  for (const row of rows) {
    yield as(row);
    if (++n % SLICE === 0) await new Promise(setImmediate);
  }
}

export const totalOf = (counts: RowCounts): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The edges a record's text names. Of one that cannot be read: none, and verifying will say so. */
export function edgesIn(text: string): readonly Omit<RelationEdge, "source">[] {
  try {
    return edgesOf(JSON.parse(text) as RecordReferences);
  } catch {
    return [];
  }
}

/** A row that contradicts the rows before it: nothing of the archive is kept. */
export class UnsoundRowError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.record} ${problem.field}: ${problem.message}`);
    this.problem = problem;
  }
}

/** What was written must be what was announced: no row was lost or doubled on the way. */
export function findSummaryMismatch(is: ArchiveSummary, was: ArchiveSummary): Problem | undefined {
  for (const kind of ROW_KINDS) {
    if (is.counts[kind] === was.counts[kind]) continue;
    const message = `${is.counts[kind]} could be kept of ${was.counts[kind]}`;
    return { record: `rows of kind ${kind}`, field: "count", message };
  }
  for (const [i, head] of was.heads.entries()) {
    const { branch, seq, link } = is.heads[i] ?? { branch: "", seq: 0, link: "" };
    if (branch === head.branch && seq === head.seq && link === head.link) continue;
    return { record: `branch ${head.branch}`, field: "link", message: "is not as announced" };
  }
  if (is.lastPlace === was.lastPlace) return undefined;
  const message = `is ${is.lastPlace}, was announced as ${was.lastPlace}`;
  return { record: "deliveries", field: "place", message };
}

/** Where the first record goes, so that the last is not before the furthest place in line. */
export function firstPosition(lastTaken: number, { counts, lastPlace }: ArchiveSummary): number {
  return Math.max(lastTaken, lastPlace - counts.memory) + 1;
}
