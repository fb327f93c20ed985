/**
 * Defines ranked search as a store operation, and the parts that every store shares: which records can be
 * found, which readers see them, and what a filter matches. The ranking itself is in search/rank.ts.
 */
import { sha256 } from "../base/digest.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { type Indexable, type IndexEntry, indexEntryOf } from "../search/in-memory-sources.ts";
import { passageOf } from "../search/passage.ts";
import type { Query } from "../search/query.ts";
import type { RankedRecord, RankRequest, ScoreParts } from "../search/rank.ts";
import type { RecordFeatures, SimilarRecord } from "../search/ranking-sources.ts";
import { AUDIT_RECORD } from "./audited.ts";
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

/**
 * What a hit must match. Several values of one field match if any of them does; `tags` and `concepts` need
 * all.
 */
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
  /** Store time at or after `since` and before `until`, in milliseconds. */
  readonly since?: number;
  readonly until?: number;
  /** Only records valid at this time; a record without validity times always is. */
  readonly validAt?: number;
}

/** A query as a vector, with the model that made it; it is compared only with vectors of that model. */
export interface QueryVector {
  readonly model: string;
  /** Normalized to length 1. */
  readonly vector: Float32Array;
  /** 128-bit signature of the vector (search/embedding/vector-signature.ts). */
  readonly signature: Uint32Array;
}

/** A record that has no vector of a model yet. */
export interface UnembeddedRecord {
  readonly pos: number;
  readonly text: string;
}

/** Asks for the next records without a vector of this model. */
export interface FindUnembedded {
  readonly workspace: string;
  readonly model: string;
  readonly limit: number;
}

/** The next records to embed, and how far the model has come. */
export interface UnembeddedSlice {
  readonly records: readonly UnembeddedRecord[];
  /**
   * Every record up to this position is in the slice, has a vector or needs none; pass it on to `putVectors`.
   */
  readonly upTo: number;
  /** Whether more records follow. */
  readonly more: boolean;
  /** The number of positions in total, and how many of them are done. */
  readonly total: number;
  readonly done: number;
}

/** Stores vectors of a model together with its progress. */
export interface PutVectors {
  readonly workspace: string;
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: readonly {
    readonly pos: number;
    readonly vector: Float32Array;
    readonly signature: Uint32Array;
  }[];
  /** `upTo` of the slice that the vectors are for. */
  readonly upTo: number;
}

/** A model with stored vectors, and its progress. */
export interface ModelState {
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: number;
  readonly done: number;
  readonly total: number;
  /** How vectors are compared and why, as text for people; absent if the store has only one way. */
  readonly compared?: string;
}

/**
 * Returns the record if it is to be embedded: every searchable record outside traces. Undefined once its
 * envelope was redacted, because a vector stored later may have been computed before the redaction.
 */
export function embeddableRecordOf(row: RowWithEnvelope): SearchableRecord | undefined {
  if (isTraceBranch(row.branch) || isEnvelopeRedacted(row.envelope)) return undefined;
  return searchableRecordOf(row);
}

/** Returns the text to embed for a record; undefined if the record is not embedded. */
export function unembeddedRecordOf(row: RowWithEnvelope): UnembeddedRecord | undefined {
  const record = embeddableRecordOf(row);
  if (record === undefined) return undefined;
  const { content, tags = [], concepts = [] } = record;
  const body = bodyLines(record, row.envelope).map((line) => line.text);
  return { pos: row.pos, text: [content, ...tags, ...concepts, ...body].join("\n") };
}

/** A ranked search for what one reader may see. */
export interface SearchMemories {
  readonly workspace: string;
  readonly sight: Visibility;
  readonly filter: SearchFilter;
  readonly ranking: Omit<RankRequest, "want" | "shown">;
  /** The query as a vector; absent: search by words only. */
  readonly meant?: QueryVector;
  readonly limit: number;
  /** Positions of the hits on earlier pages, which are left out. */
  readonly shown?: readonly number[];
  /** For later pages: the `upTo` of the first page, so that newer records do not appear. */
  readonly upTo?: number;
}

/** A record that matched, with the reasons for its rank. */
export interface SearchHit {
  /** Position of the record; pass it in `shown` for the next page. */
  readonly pos: number;
  readonly row: MemoryRow;
  readonly score: number;
  readonly parts: ScoreParts;
  /** Indexes of the query terms that the record contains. */
  readonly matchedTerms: readonly number[];
  /** Indexes of the query terms that records beside it contain. */
  readonly neighbourTerms: readonly number[];
  /** The part of its body that matches, if that is more than its content. */
  readonly passage: string | undefined;
  /** Cosine similarity to the query; undefined without vectors. */
  readonly similarity: number | undefined;
  /** The record beside it that contains query terms missing here. */
  readonly nearest: string | undefined;
  /** The related record that its score is partly due to, and the kind of relation. */
  readonly connected: { readonly id: string; readonly kind: string } | undefined;
  readonly supersededBy: readonly string[];
}

/** How much of the store is indexed. */
export interface IndexState {
  /** Stored records, and how many of them the index covers; the rest is scanned. */
  readonly records: number;
  readonly indexed: number;
}

/** A page of hits, best first. */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  readonly more: boolean;
  /** Pass it in `upTo` for the next page. */
  readonly upTo: number;
  readonly index: IndexState;
  /** How vectors were compared: not at all, one by one, by signature first, or through an HNSW index. */
  readonly vectors: "none" | "exact" | "quantised" | "hnsw";
}

/** The type of a record that states what a receiver was shown (delivery/work/views.ts). */
export const VIEW_TYPE = "view";

/** Types of bookkeeping records, which never answer a query. */
export const UNSEARCHABLE_TYPES: ReadonlySet<string> = new Set([
  AUDIT_RECORD,
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

/** The fields of a record that search uses. */
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

/** Returns undefined for a record that cannot be found: bookkeeping, redacted or unreadable. */
export function searchableRecordOf(
  row: Pick<MemoryRow, "id" | "text">,
): SearchableRecord | undefined {
  let found: SearchableRecord;
  try {
    found = facetsOf(row) as SearchableRecord;
  } catch {
    return undefined; // verify reports damaged records; the others must still be found.
  }
  const { type, content } = found;
  return UNSEARCHABLE_TYPES.has(type) || typeof content !== "string" || content === ""
    ? undefined
    : found;
}

/** Returns the space a record is counted in: traces are kept apart from what the team knows. */
export const spaceOf = (branch: string): "known" | "traced" =>
  isTraceBranch(branch) ? "traced" : "known";

/** Returns a number that identifies a space of a workspace. */
export const spaceKey = (workspace: number, space: "known" | "traced"): number =>
  workspace * 2 + (space === "traced" ? 1 : 0);

/** A record with the text of the envelope it vouches for, if it vouches for one. */
export interface RowWithEnvelope extends MemoryRow {
  readonly pos: number;
  readonly envelope?: string | undefined;
}

/** A record as the index reads it. */
export interface IndexableRow extends RowWithEnvelope {
  /** The store's numeric key of its workspace. */
  readonly workspace: number;
}

/** A record with everything that the index stores about it. */
export interface IndexedRecord extends IndexEntry {
  readonly row: IndexableRow;
  readonly record: SearchableRecord;
}

/** Returns the record with its index entry; undefined for a record that cannot be found. */
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
  // Without the envelope text: a tail keeps thousands of these.
  const kept = row.envelope === undefined ? row : { ...row, envelope: undefined };
  return { ...indexEntryOf(indexable), row: kept, record };
}

/**
 * Returns 48 bits, as a decimal number, that records of one session share; such records count as neighbours.
 * The records on ordinary branches form one session, the trace another.
 */
function sessionKey({ workspace, branch }: IndexableRow, record: SearchableRecord): string {
  const name = JSON.stringify([workspace, spaceOf(branch), sessionOf(record)]);
  const known = sessionKeys.get(name);
  if (known !== undefined) return known;
  const key = String(Number.parseInt(sha256(name).slice(0, 12), 16));
  sessionKeys.set(name, key);
  return key;
}

/** A session writes many records in a row, so a small cache is enough. */
const sessionKeys = new GenerationalCache<string, string>(1_000);

/** Returns which readers may see a record, as one comparable text; empty: every reader. */
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

/** Returns every `reachOf` value that a reader may see. Must agree with `isInScope` (visibility.ts). */
export function reachesOf({ agent, session, user }: Reader): ReadonlySet<string> {
  const named = Object.entries({ agent, session, user }).filter(([, name]) => name !== "");
  return new Set(["", ...named.map(([kind, name]) => `${kind} ${name}`)]);
}

/** Returns whether a reader may see the record: by branch, scope and quarantine. */
export function isRecordVisible(row: MemoryRow, record: ScopedRecord, sight: Visibility): boolean {
  return (
    isOnVisibleBranch(row, sight) &&
    isInScope(record, sight.reader) &&
    !isQuarantined(row.id, sight)
  );
}

/** Returns whether a record matches every condition. Defaults: importance 0.5, confidence 1, scope team. */
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

/** Returns the facets of a filter that the index has postings for, each with the wanted values. */
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

/**
 * Returns the nearest visible records. Reads no more than `limit` records as long as all of them are visible.
 */
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

/** Reads the rows of hits by position. */
export interface HitRows {
  readonly rowAt: (pos: number) => MemoryRow | undefined;
  /** Returns the text of the envelope that the record at the position vouches for. */
  readonly envelopeAt: (pos: number) => string | undefined;
}

/** Converts ranked positions to hits; a position without a record is left out. */
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
    const { score, parts, matchedTerms, neighbourTerms, similarity } = each;
    const envelope = each.inBody ? envelopeAt(each.pos) : undefined;
    const connected = idAt(each.connected?.pos);
    return [
      {
        pos: each.pos,
        row,
        score,
        parts,
        matchedTerms: matchedTerms,
        neighbourTerms: neighbourTerms,
        passage: each.inBody ? passageIn(row, envelope, { query, said: matchedTerms }) : undefined,
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
