/**
 * What a reader may see of a workspace's memories: which lines, each up to where, and whose private
 * records. Every look at memories says who looks; a store applies it to rows and never widens it.
 */
import { sessionOf } from "./memory-filter.ts";
import { type MemoryRow, parseText } from "./rows.ts";

/** A branch, up to one of its records. */
export interface BranchRange {
  readonly branch: string;
  /** The last sequence number that is seen. */
  readonly upTo: number;
}

/** Who looks. Empty strings are nobody: such a reader sees what everybody sees. */
export interface Reader {
  readonly agent: string;
  readonly session: string;
  /** The person an agent belongs to: its owner. */
  readonly user: string;
}

export interface Visibility {
  /** A branch over its base: the nearest first, no branch twice. */
  readonly lines: readonly BranchRange[];
  readonly reader: Reader;
  /** Also what agents did, step by step: the traces of every session. */
  readonly traces: boolean;
  /** Records that were taken out of sight. */
  readonly quarantined: readonly string[];
  /** Whatever the scopes: for a look of the hub's own, of which nobody is shown a record that is not his. */
  readonly unscoped?: true | undefined;
}

export const ANONYMOUS_READER: Reader = { agent: "", session: "", user: "" };

/** The branch there always is. */
export const MAIN_BRANCH = "main";

/** As far as a line goes. */
export const END_OF_BRANCH: number = Number.MAX_SAFE_INTEGER;

/** The whole of one branch, as everybody sees it. */
export const publicVisibility = (branch: string): Visibility => ({
  lines: [{ branch, upTo: END_OF_BRANCH }],
  reader: ANONYMOUS_READER,
  traces: false,
  quarantined: [],
});

/** The fields that say who may see a record. */
export interface ScopedRecord {
  readonly agent: string;
  readonly instance: string;
  readonly session?: string | undefined;
  readonly scope?: "agent" | "session" | "user" | "team" | undefined;
  /** The person its author belonged to when it was written; there when the scope is `user`. */
  readonly user?: string | undefined;
}

/** Whether its scope lets the reader see it, wherever it is. */
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

/** Whether whoever may see the one may see the other too. */
export function isAudienceWithin(record: ScopedRecord, other: ScopedRecord): boolean {
  if (isTeamScoped(other)) return true;
  return record.scope === other.scope && audienceOf(record) === audienceOf(other);
}

/** Whether nobody may see both: private to two agents, two sessions, two persons. */
export function areAudiencesDisjoint(record: ScopedRecord, other: ScopedRecord): boolean {
  if (isTeamScoped(record) || record.scope !== other.scope) return false;
  return audienceOf(record) !== audienceOf(other);
}

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

/** The same of a row. Most records have no scope, and a text without the word needs no parsing. */
export function isRowInScope(row: Pick<MemoryRow, "id" | "text">, reader: Reader): boolean {
  return !row.text.includes('"scope":') || isInScope(parseText<ScopedRecord>(row), reader);
}

export function isOnVisibleBranch(
  row: Pick<MemoryRow, "branch" | "seq">,
  sight: Visibility,
): boolean {
  if (sight.traces && isTraceBranch(row.branch)) return true;
  return sight.lines.some((line) => line.branch === row.branch && row.seq <= line.upTo);
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Looked up in a set that is made once for a look. */
export function isQuarantined(memory: string, { quarantined }: Visibility): boolean {
  if (quarantined.length === 0) return false;
  const set = sets.get(quarantined) ?? new Set(quarantined);
  sets.set(quarantined, set);
  return set.has(memory);
}

/** Whether a look shows this record. The one check that every way of finding records makes. */
export function isRowVisible(row: MemoryRow, sight: Visibility): boolean {
  return (
    isOnVisibleBranch(row, sight) && !isQuarantined(row.id, sight) && isRowInScopeOf(row, sight)
  );
}

const isRowInScopeOf = (row: MemoryRow, { reader, unscoped }: Visibility): boolean =>
  unscoped === true || isRowInScope(row, reader);

/** Whether an edge is shown to who looks at one of its ends, by the record at the other. */
export function isEdgeVisible(
  other: MemoryRow,
  direction: "in" | "out",
  sight: Visibility,
): boolean {
  // Who reads a record knows where it points; who points to it is said on some line.
  return direction === "in"
    ? isRowVisible(other, sight)
    : !isQuarantined(other.id, sight) && isRowInScopeOf(other, sight);
}

/** Traces of a session are on a branch of their own, which can be pruned. */
export const traceBranch = (session: string): string => `trace/${session}`;
export const isTraceBranch = (branch: string): boolean => branch.startsWith("trace/");
