/**
 * Ranked search as an operation of a store, and what every store does alike in it: which records can
 * be found, who sees them, what a filter means. The ranking itself is search/rank.ts.
 */
import { sha256 } from "../base/digest.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { type Indexable, type IndexEntry, indexEntryOf } from "../search/in-memory-sources.ts";
import { passageOf } from "../search/passage.ts";
import type { Query } from "../search/query.ts";
import type { RankedRecord, RankRequest, ScoreParts } from "../search/rank.ts";
import type { RecordFeatures, SimilarRecord } from "../search/ranking-sources.ts";
import { type BodySource, bodyLines, bodyParts, isEnvelopeRedacted } from "./body-text.ts";
import { type Facets, facetsOf, sessionOf } from "./memory-filter.ts";
import type { MemoryRow } from "./rows.ts";
import {
  isInScope,
  isOnVisibleBranch,
  isQuarantined,
  isTraceBranch,
  type Reader,
  type ScopedRecord,
  type Visibility,
} from "./visibility.ts";

/** Every field a record can be found by. Several values of one field: any of them; of tags: all. */
export interface SearchFilter {
  readonly types?: readonly string[];
  readonly tags?: readonly string[];
  readonly concepts?: readonly string[];
  readonly agents?: readonly string[];
  readonly sessions?: readonly string[];
  readonly tasks?: readonly string[];
  readonly runs?: readonly string[];
  readonly scopes?: readonly string[];
  readonly branches?: readonly string[];
  readonly minImportance?: number;
  readonly minConfidence?: number;
  /** Stored at or after, and before. */
  readonly since?: number;
  readonly until?: number;
  /** True at this time, as far as it says. */
  readonly validAt?: number;
}

/** What was asked, as a vector, and which model made it: compared with vectors of that model only. */
export interface QueryVector {
  readonly model: string;
  /** Of length one. */
  readonly vector: Float32Array;
  /** 128 bits that stand for it (search/embedding/signature.ts). */
  readonly signature: Uint32Array;
}

/** A record whose meaning a model has not been asked for yet. */
export interface UnembeddedRecord {
  readonly pos: number;
  readonly text: string;
}

export interface FindUnembedded {
  readonly workspace: string;
  readonly model: string;
  readonly limit: number;
}

export interface UnembeddedSlice {
  readonly records: readonly UnembeddedRecord[];
  /** Everything up to here is in the slice, has a vector or needs none: said back with the vectors. */
  readonly upTo: number;
  /** Whether there is more beyond. */
  readonly more: boolean;
  /** How many positions there are, and how many are behind. */
  readonly total: number;
  readonly done: number;
}

export interface PutVectors {
  readonly workspace: string;
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: readonly {
    readonly pos: number;
    readonly vector: Float32Array;
    readonly signature: Uint32Array;
  }[];
  readonly upTo: number;
}

/** A model whose vectors are kept, and how far it has come. */
export interface ModelState {
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: number;
  readonly done: number;
  readonly total: number;
  /** How they are compared and why so, for people, where a store has more than one way. */
  readonly compared?: string;
}

/**
 * The record, if it is embedded: what a team knows is. Not once its envelope was redacted: a vector that
 * is put after that may have been made before it.
 */
export function embeddableRecordOf(row: RowWithEnvelope): SearchableRecord | undefined {
  if (isTraceBranch(row.branch) || isEnvelopeRedacted(row.envelope)) return undefined;
  return searchableRecordOf(row);
}

/** Returns what is to be embedded of a record; undefined if it is not embedded. */
export function unembeddedRecordOf(row: RowWithEnvelope): UnembeddedRecord | undefined {
  const record = embeddableRecordOf(row);
  if (record === undefined) return undefined;
  const { content, tags = [], concepts = [] } = record;
  const body = bodyLines(record, row.envelope).map((line) => line.text);
  return { pos: row.pos, text: [content, ...tags, ...concepts, ...body].join("\n") };
}

export interface SearchMemories {
  readonly workspace: string;
  readonly sight: Visibility;
  readonly filter: SearchFilter;
  readonly ranking: Omit<RankRequest, "want" | "shown">;
  readonly meant?: QueryVector;
  readonly limit: number;
  /** Positions of the hits of the pages before: they do not come again. */
  readonly shown?: readonly number[];
  /** For a later page: nothing newer than the first page saw. */
  readonly upTo?: number;
}

export interface SearchHit {
  /** For the next page: what was shown. */
  readonly pos: number;
  readonly row: MemoryRow;
  readonly score: number;
  readonly parts: ScoreParts;
  readonly said: readonly number[];
  readonly heard: readonly number[];
  /** What of its body answers, where that is more than what its content says. */
  readonly passage: string | undefined;
  readonly similarity: number | undefined;
  /** The record beside it that says what it does not. */
  readonly nearest: string | undefined;
  readonly connected: { readonly id: string; readonly kind: string } | undefined;
  readonly supersededBy: readonly string[];
}

export interface IndexState {
  /** Records acknowledged, and how many of them the index covers; the rest is scanned. */
  readonly records: number;
  readonly indexed: number;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  readonly more: boolean;
  /** For the next page. */
  readonly upTo: number;
  readonly index: IndexState;
  /** How vectors were compared: not at all, with every one, or with an index over them. */
  readonly vectors: "none" | "exact" | "quantised" | "hnsw";
}

/** The type of a record that says what somebody was shown (delivery/work/views.ts). */
export const VIEW_TYPE = "view";

/** Records that only make others work: they answer nothing. */
export const UNSEARCHABLE_TYPES: ReadonlySet<string> = new Set([
  "pin",
  "unpin",
  "branch",
  "merge",
  "abandon",
  "redaction",
  "quarantine",
  "lift",
  "pruning",
  VIEW_TYPE,
]);

/** Everything of a record that matters for finding it. */
export interface SearchableRecord extends Facets, ScopedRecord, Pick<BodySource, "data" | "trail"> {
  readonly createdAt: number;
  readonly run?: string;
  readonly importance?: number;
  readonly confidence?: number;
  readonly validFrom?: number;
  readonly validUntil?: number;
  readonly scope?: "agent" | "session" | "user" | "team";
  readonly user?: string;
  readonly session?: string;
}

/** Undefined for what cannot be found: plumbing, what was redacted, what cannot be read. */
export function searchableRecordOf(
  row: Pick<MemoryRow, "id" | "text">,
): SearchableRecord | undefined {
  let found: SearchableRecord;
  try {
    found = facetsOf(row) as SearchableRecord;
  } catch {
    return undefined; // Damaged records are verify's business: the others must still be found.
  }
  const { type, content } = found;
  return UNSEARCHABLE_TYPES.has(type) || typeof content !== "string" || content === ""
    ? undefined
    : found;
}

/** The space a record is counted in: what agents did, step by step, is kept apart. */
export const spaceOf = (branch: string): "known" | "traced" =>
  isTraceBranch(branch) ? "traced" : "known";

/** A space of a workspace as one number. */
export const spaceKey = (workspace: number, space: "known" | "traced"): number =>
  workspace * 2 + (space === "traced" ? 1 : 0);

/** A record with the text of the envelope it vouches for, where it vouches for one. */
export interface RowWithEnvelope extends MemoryRow {
  readonly pos: number;
  readonly envelope?: string | undefined;
}

export interface IndexableRow extends RowWithEnvelope {
  /** The store's key for its workspace. */
  readonly workspace: number;
}

/** A record with all that the index keeps of it. */
export interface IndexedRecord extends IndexEntry {
  readonly row: IndexableRow;
  readonly record: SearchableRecord;
}

/** Undefined for what cannot be found. */
export function indexedRecord(row: IndexableRow): IndexedRecord | undefined {
  const record = searchableRecordOf(row);
  if (record === undefined) return undefined;
  const indexable: Indexable = {
    ...record,
    body: bodyParts(bodyLines(record, row.envelope)),
    pos: row.pos,
    session: sessionKey(row, record),
    when: record.validFrom ?? record.createdAt,
    storedAt: row.storedAt,
  };
  // Not the envelope: a tail keeps thousands of these.
  const kept = row.envelope === undefined ? row : { ...row, envelope: undefined };
  return { ...indexEntryOf(indexable), row: kept, record };
}

/**
 * 48 bits, as a decimal, for records that are neighbours. A session's records on ordinary branches
 * are; its trace is a session of its own.
 */
function sessionKey({ workspace, branch }: IndexableRow, record: SearchableRecord): string {
  const name = JSON.stringify([workspace, spaceOf(branch), sessionOf(record)]);
  const known = sessionKeys.get(name);
  if (known !== undefined) return known;
  const key = String(Number.parseInt(sha256(name).slice(0, 12), 16));
  sessionKeys.set(name, key);
  return key;
}

/** A session writes many records in a row. */
const sessionKeys = new GenerationalCache<string, string>(1_000);

/** Who may see a record, as one word that can be compared: empty for everybody. */
export function reachOf(record: ScopedRecord): string {
  switch (record.scope) {
    case "agent":
      return `agent ${record.agent}`;
    case "session":
      return `session ${sessionOf(record)}`;
    case "user":
      return `user ${record.user ?? ""}`;
    default:
      return "";
  }
}

/** All the words by which a reader may see records. Says the same as isOpenTo. */
export function reachesOf({ agent, session, user }: Reader): ReadonlySet<string> {
  const named = Object.entries({ agent, session, user }).filter(([, name]) => name !== "");
  return new Set(["", ...named.map(([kind, name]) => `${kind} ${name}`)]);
}

/** Whether a reader may find it. */
export function isRecordVisible(row: MemoryRow, record: ScopedRecord, sight: Visibility): boolean {
  return (
    isOnVisibleBranch(row, sight) &&
    isInScope(record, sight.reader) &&
    !isQuarantined(row.id, sight)
  );
}

export function matchesSearchFilter(
  row: MemoryRow,
  record: SearchableRecord,
  filter: SearchFilter,
): boolean {
  const { since = 0, until = Number.MAX_SAFE_INTEGER, validAt } = filter;
  return (
    isAmong(filter.types, record.type) &&
    isAmong(filter.agents, record.agent) &&
    isAmong(filter.sessions, sessionOf(record)) &&
    isAmong(filter.tasks, record.task) &&
    isAmong(filter.runs, record.run) &&
    isAmong(filter.scopes, record.scope ?? "team") &&
    isAmong(filter.branches, row.branch) &&
    hasAll(record.tags, filter.tags) &&
    hasAll(record.concepts, filter.concepts) &&
    (record.importance ?? 0.5) >= (filter.minImportance ?? 0) &&
    (record.confidence ?? 1) >= (filter.minConfidence ?? 0) &&
    row.storedAt >= since &&
    row.storedAt < until &&
    (validAt === undefined ||
      ((record.validFrom ?? 0) <= validAt &&
        validAt < (record.validUntil ?? Number.MAX_SAFE_INTEGER)))
  );
}

const isAmong = (wanted: readonly string[] | undefined, value: string | undefined): boolean =>
  wanted === undefined || (value !== undefined && wanted.includes(value));

const hasAll = (values: readonly string[] = [], wanted: readonly string[] = []): boolean =>
  wanted.every((each) => values.includes(each));

/** The facets the index has a list for, each with the values asked for. */
export function facetsIn(filter: SearchFilter): [kind: string, values: readonly string[]][] {
  const { types, agents, sessions, tasks, runs, tags = [], concepts = [] } = filter;
  const any: [string, readonly string[] | undefined][] = [
    ["type", types],
    ["agent", agents],
    ["session", sessions],
    ["task", tasks],
    ["run", runs],
    ...tags.map((tag): [string, string[]] => ["tag", [tag]]),
    ...concepts.map((concept): [string, string[]] => ["concept", [concept]]),
  ];
  return any.flatMap(([kind, values]): [string, readonly string[]][] =>
    values === undefined ? [] : [[kind, values]],
  );
}

/** The nearest that may be seen: as long as all may, no more are looked at than asked for. */
export async function findNearestVisible(
  near: readonly SimilarRecord[],
  limit: number,
  records: (positions: readonly number[]) => Promise<readonly RecordFeatures[]>,
): Promise<SimilarRecord[]> {
  const seen: SimilarRecord[] = [];
  for (let at = 0; at < near.length && seen.length < limit; at += limit) {
    const some = near.slice(at, at + limit);
    const found = await records(some.map(({ pos }) => pos));
    const shown = new Set(found.map(({ pos }) => pos));
    seen.push(...some.filter(({ pos }) => shown.has(pos)));
  }
  return seen.slice(0, limit);
}

/** Where the rows of hits come from. */
export interface HitRows {
  readonly rowAt: (pos: number) => MemoryRow | undefined;
  /** The text of the envelope that the record there vouches for. */
  readonly envelopeAt: (pos: number) => string | undefined;
}

/** What was ranked, with records in place of positions. */
export function hitsOf(
  ranked: readonly RankedRecord[],
  query: Query,
  { rowAt, envelopeAt }: HitRows,
): SearchHit[] {
  const idAt = (pos: number | undefined): string | undefined =>
    pos === undefined ? undefined : rowAt(pos)?.id;
  return ranked.flatMap((each): SearchHit[] => {
    const row = rowAt(each.pos);
    if (row === undefined) return [];
    const { score, parts, said, heard, similarity } = each;
    const envelope = each.inBody ? envelopeAt(each.pos) : undefined;
    const connected = idAt(each.connected?.pos);
    return [
      {
        pos: each.pos,
        row,
        score,
        parts,
        said,
        heard,
        passage: each.inBody ? passageIn(row, envelope, { query, said }) : undefined,
        similarity,
        nearest: idAt(each.nearest),
        connected:
          connected === undefined ? undefined : { id: connected, kind: each.connected?.kind ?? "" },
        supersededBy: each.supersededBy.flatMap((pos) => idAt(pos) ?? []),
      },
    ];
  });
}

function passageIn(
  row: MemoryRow,
  envelope: string | undefined,
  { query, said }: { readonly query: Query; readonly said: readonly number[] },
): string | undefined {
  const record = searchableRecordOf(row);
  if (record === undefined) return undefined;
  const terms = said.flatMap((place) => query.terms[place]?.term ?? []);
  return passageOf(bodyLines(record, envelope), terms);
}
