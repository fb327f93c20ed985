/**
 * What an index keeps of a record for ranking, as columns and back: the same in every store, in this
 * order: pos, session, time, stored_at, valid_until, seq, importance, confidence, traits, id, branch,
 * reach, agent, packed.
 */
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Census, RecordFeatures } from "../search/ranking-sources.ts";
import { wordsOf } from "../search/words.ts";
import { type IndexedRecord, reachOf } from "./search.ts";

export const NO_CENSUS: Census = { records: 0, passages: 0, terms: 0, first: 0, last: 0 };

/** One record as a census. */
export function censusOf({ found, passages, terms }: IndexedRecord): Census {
  return { records: 1, passages, terms, first: found.pos, last: found.pos };
}

const QUESTION = 1;
const TIME = 2;

export function featureColumns({ found, row, record }: IndexedRecord) {
  const { packed } = found;
  return [
    found.pos,
    Number(found.session),
    found.when,
    found.storedAt,
    found.validUntil,
    row.seq,
    found.importance ?? -1,
    found.confidence ?? -1,
    (found.isQuestion ? QUESTION : 0) + (found.tellsTime ? TIME : 0),
    row.id,
    row.branch,
    // PostgreSQL has no column for a zero; who is named so sees it by no other name.
    reachOf(record).replaceAll("\0", ""),
    record.agent,
    Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength),
  ] as const;
}

/** A record of the index, and what says who may see it. */
export interface FeatureRow {
  readonly pos: number;
  readonly seq: number;
  readonly id: string;
  readonly branch: string;
  readonly reach: string;
  readonly found: RecordFeatures;
}

export function featureRowOf(columns: unknown): FeatureRow {
  const [pos, session, when, storedAt, validUntil, seq, importance, confidence, traits, ...rest] =
    columns as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      ...unknown[],
    ];
  const [id, branch, reach, agent, packed] = rest as [string, string, string, string, Uint8Array];
  const found: RecordFeatures = {
    pos,
    session: String(session),
    names: namesOf(agent),
    when,
    storedAt,
    validUntil,
    importance: importance < 0 ? undefined : importance,
    confidence: confidence < 0 ? undefined : confidence,
    isQuestion: (traits & QUESTION) !== 0,
    tellsTime: (traits & TIME) !== 0,
    packed: toUint32Array(packed),
  };
  return { pos, seq, id, branch, reach, found };
}

/** 32-bit numbers of some bytes; a copy where they do not begin at a multiple of four. */
export function toUint32Array(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

/** Few write much. */
const names = new GenerationalCache<string, readonly string[]>(1_000);

function namesOf(agent: string): readonly string[] {
  const known = names.get(agent);
  if (known !== undefined) return known;
  const words = wordsOf(agent);
  names.set(agent, words);
  return words;
}
