/**
 * The rows of a whole workspace as an export reads and an import writes them, and the helpers that every
 * store needs for both. Rows are transferred unchanged. What a store derives from them (names, edges,
 * positions, the index) is derived again on import.
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

/** An envelope without its time, which is the time of its handoff record. */
export type ArchivedEnvelope = Omit<EnvelopeRow, "storedAt">;

/** The row type of each kind; the comments give the order within the kind. */
export interface ArchivedRows {
  /** By id. */
  readonly agent: AgentRow;
  /** In the order they were stored, across all branches. */
  readonly memory: MemoryRow;
  /** In the order of their records. */
  readonly envelope: ArchivedEnvelope;
  /** By id. */
  readonly delivery: DeliveryRow;
  /** By delivery, then by attempt number. */
  readonly attempt: AttemptRow;
  /** By kind, then by name. */
  readonly entry: EntryRow;
  /** By number. */
  readonly event: EventRow;
}

/** The kind of a row in an archive. */
export type RowKind = keyof ArchivedRows;

/** The order of kinds in an archive: a row comes after every row it refers to. */
export const ROW_KINDS = [
  "agent",
  "memory",
  "envelope",
  "delivery",
  "attempt",
  "entry",
  "event",
] as const satisfies readonly RowKind[];

/** A row with its kind. */
export type ArchivedRow = {
  readonly [Kind in RowKind]: { readonly kind: Kind; readonly row: ArchivedRows[Kind] };
}[RowKind];

/** The number of rows of each kind. */
export type RowCounts = Readonly<Record<RowKind, number>>;

/** Summary of an archive, known before its first row is read. */
export interface ArchiveSummary {
  readonly counts: RowCounts;
  /** The last record of every branch, by branch name. */
  readonly heads: readonly ChainHead[];
  /** The highest inbox place of any delivery; everything sent later gets a higher one. */
  readonly lastPlace: number;
}

/** The input of an import. */
export interface Archive {
  readonly summary: ArchiveSummary;
  /**
   * Read once, in the order of `ROW_KINDS`. An error thrown here aborts the import and nothing is written.
   */
  readonly rows: AsyncIterable<ArchivedRow>;
}

/**
 * One item of an export: the summary first, then the rows, all from one snapshot however long reading takes.
 */
export type ExportItem =
  | { readonly kind: "summary"; readonly summary: ArchiveSummary }
  | ArchivedRow;

/** Progress of an import, in rows. */
export interface ImportProgress {
  readonly phase: "writing" | "verifying";
  readonly done: number;
  readonly total: number;
}

/** What an import did. */
export type ImportOutcome =
  /** Every row was written and verified before it became visible. `eventsMovedBy`: added to event numbers. */
  | { readonly kind: "imported"; readonly report: VerifyReport; readonly eventsMovedBy: number }
  /** The workspace already contains this history, possibly followed by newer records. */
  | { readonly kind: "already_there" }
  /** The workspace contains something else; `records` is how many rows it has. */
  | { readonly kind: "not_empty"; readonly records: number }
  /** The rows contradict each other or their own hashes; nothing was written. */
  | { readonly kind: "unsound"; readonly problems: readonly Problem[] };

/** Progress of a backup or restore: pages or bytes while copying, rows while verifying. */
export interface BackupProgress {
  readonly phase: "copying" | "verifying";
  readonly done: number;
  readonly total: number;
}

/** One workspace in a backup, with the totals of its verification. */
export interface CopiedWorkspace extends Omit<VerifyReport, "problems"> {
  readonly workspace: string;
}

/** What a backup did. */
export type BackupOutcome =
  | {
      readonly kind: "copied";
      readonly bytes: number;
      readonly sha256: string;
      readonly workspaces: readonly CopiedWorkspace[];
    }
  /** The store is not a file that can be copied; export its workspaces instead. */
  | { readonly kind: "no_file" };

/**
 * Compares strings by their UTF-8 bytes, the order in which databases sort. JavaScript's own order differs
 * outside the basic multilingual plane.
 */
export const byCodePoint = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Rows to read or write before yielding to the event loop. */
export const SLICE = 128;

/** Yields the converted rows and gives the event loop a turn after every `SLICE` rows. */
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

/** Returns the total number of rows. */
export const totalOf = (counts: RowCounts): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Returns the edges that a record's text names; none if it cannot be parsed (verification reports that). */
export function edgesIn(text: string): readonly Omit<RelationEdge, "source">[] {
  try {
    return edgesOf(JSON.parse(text) as RecordReferences);
  } catch {
    return [];
  }
}

/** Thrown for a row that contradicts the rows before it; the whole import is rolled back. */
export class UnsoundRowError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.record} ${problem.field}: ${problem.message}`);
    this.problem = problem;
  }
}

/**
 * Returns the first difference between what was written (`is`) and what the archive's summary states (`was`).
 */
export function findSummaryMismatch(is: ArchiveSummary, was: ArchiveSummary): Problem | undefined {
  for (const kind of ROW_KINDS) {
    if (is.counts[kind] === was.counts[kind]) continue;
    const message = `stored ${is.counts[kind]} of ${was.counts[kind]} rows`;
    return { record: `rows of kind ${kind}`, field: "count", message };
  }
  for (const [i, head] of was.heads.entries()) {
    const { branch, seq, link } = is.heads[i] ?? { branch: "", seq: 0, link: "" };
    if (branch === head.branch && seq === head.seq && link === head.link) continue;
    return {
      record: `branch ${head.branch}`,
      field: "link",
      message: "does not match the summary",
    };
  }
  if (is.lastPlace === was.lastPlace) return undefined;
  const message = `is ${is.lastPlace}, but the summary states ${was.lastPlace}`;
  return { record: "deliveries", field: "place", message };
}

/** Returns the position for the first imported record, so that the last one is not below `lastPlace`. */
export function firstPosition(lastTaken: number, { counts, lastPlace }: ArchiveSummary): number {
  return Math.max(lastTaken, lastPlace - counts.memory) + 1;
}
