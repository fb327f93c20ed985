/**
 * Decides which memories a reader may see: which branches up to which record, and which private records.
 * Every read of memories states its reader. A store applies this to rows and never returns more.
 */
import { sessionOf } from "./memory-filter.ts";
import { type MemoryRow, parseText } from "./rows.ts";

/** A branch up to one of its records. */
export interface BranchRange {
  readonly branch: string;
  /** The last visible sequence number. */
  readonly upTo: number;
}

/** The reader. Empty strings: no identity; such a reader sees only team records. */
export interface Reader {
  readonly agent: string;
  readonly session: string;
  /** The person that the agent belongs to (its owner). */
  readonly user: string;
}

/** What one reader sees. */
export interface Visibility {
  /** The branch and its bases, nearest first, each branch once. */
  readonly lines: readonly BranchRange[];
  readonly reader: Reader;
  /** Whether the traces of every session are visible. */
  readonly traces: boolean;
  /** Ids of quarantined records, which are not visible. */
  readonly quarantined: readonly string[];
  /** Ignores scopes: for internal reads of the hub that show the reader no record it may not see. */
  readonly unscoped?: true | undefined;
}

/** A reader without an identity. */
export const ANONYMOUS_READER: Reader = { agent: "", session: "", user: "" };

/** The branch that always exists. */
export const MAIN_BRANCH = "main";

/** `upTo` for a whole branch. */
export const END_OF_BRANCH: number = Number.MAX_SAFE_INTEGER;

/** Returns the visibility of one whole branch for a reader without an identity. */
export const publicVisibility = (branch: string): Visibility => ({
  lines: [{ branch, upTo: END_OF_BRANCH }],
  reader: ANONYMOUS_READER,
  traces: false,
  quarantined: [],
});

/** The fields that decide which readers may see a record. */
export interface ScopedRecord {
  readonly agent: string;
  readonly instance: string;
  readonly session?: string | undefined;
  readonly scope?: "agent" | "session" | "user" | "team" | undefined;
  /** The person that the author belonged to at the time of writing; present if the scope is `user`. */
  readonly user?: string | undefined;
}

/** Returns whether the scope of a record includes the reader, on any branch. */
export function isInScope(record: ScopedRecord, reader: Reader): boolean {
  switch (record.scope) {
    case "agent":
      return record.agent === reader.agent;
    case "session":
      return reader.session !== "" && sessionOf(record) === reader.session;
    case "user":
      return reader.user !== "" && record.user === reader.user;
    default:
      return true;
  }
}

/** Returns whether every reader that may see `record` may also see `other`. */
export function isAudienceWithin(record: ScopedRecord, other: ScopedRecord): boolean {
  if (isTeamScoped(other)) return true;
  return record.scope === other.scope && audienceOf(record) === audienceOf(other);
}

/** Returns whether no reader may see both: they are private to different agents, sessions or persons. */
export function areAudiencesDisjoint(record: ScopedRecord, other: ScopedRecord): boolean {
  if (isTeamScoped(record) || record.scope !== other.scope) return false;
  return audienceOf(record) !== audienceOf(other);
}

/** Returns whether every agent of the team may see the record. */
export const isTeamScoped = ({ scope = "team" }: ScopedRecord): boolean => scope === "team";

function audienceOf(record: ScopedRecord): string | undefined {
  switch (record.scope) {
    case "agent":
      return record.agent;
    case "session":
      return sessionOf(record);
    default:
      return record.user;
  }
}

/** Like `isInScope`, for a row. Most records have no scope, and a text without the key is not parsed. */
export function isRowInScope(row: Pick<MemoryRow, "id" | "text">, reader: Reader): boolean {
  return !row.text.includes('"scope":') || isInScope(parseText<ScopedRecord>(row), reader);
}

/** Returns whether the record is on a visible branch, and not after its last visible record. */
export function isOnVisibleBranch(
  row: Pick<MemoryRow, "branch" | "seq">,
  sight: Visibility,
): boolean {
  if (sight.traces && isTraceBranch(row.branch)) return true;
  return sight.lines.some((line) => line.branch === row.branch && row.seq <= line.upTo);
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Returns whether a memory is quarantined. Builds a set once per visibility. */
export function isQuarantined(memory: string, { quarantined }: Visibility): boolean {
  if (quarantined.length === 0) return false;
  const set = sets.get(quarantined) ?? new Set(quarantined);
  sets.set(quarantined, set);
  return set.has(memory);
}

/** Returns whether a reader sees a record. Every kind of read uses this check. */
export function isRowVisible(row: MemoryRow, sight: Visibility): boolean {
  return (
    isOnVisibleBranch(row, sight) && !isQuarantined(row.id, sight) && isRowInScopeOf(row, sight)
  );
}

const isRowInScopeOf = (row: MemoryRow, { reader, unscoped }: Visibility): boolean =>
  unscoped === true || isRowInScope(row, reader);

/** Returns whether a reader that sees one end of an edge sees the edge, given the record at the other end. */
export function isEdgeVisible(
  other: MemoryRow,
  direction: "in" | "out",
  sight: Visibility,
): boolean {
  // A record shows where it points, on any branch. What points to it is visible only on a visible branch.
  return direction === "in"
    ? isRowVisible(other, sight)
    : !isQuarantined(other.id, sight) && isRowInScopeOf(other, sight);
}

/** Returns the branch of a session's trace. It is separate, so that it can be pruned. */
export const traceBranch = (session: string): string => `trace/${session}`;
/** The branch of the audit records (audited.ts). No reader sees it; only `hub.events.audit()` reads it. */
export const AUDIT_BRANCH = "audit";
/** Returns whether a branch holds the trace of a session. */
export const isTraceBranch = (branch: string): boolean => branch.startsWith("trace/");
