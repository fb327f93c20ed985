/**
 * Converts the ranking features of a record to index columns and back. Every store uses the same columns in
 * this order: pos, session, time, stored_at, valid_until, seq, importance, confidence, traits, id, branch,
 * reach, agent, packed.
 */
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Census, RecordFeatures } from "../search/ranking-sources.ts";
import { wordsOf } from "../search/words.ts";
import { type IndexedRecord, reachOf } from "./search.ts";

/** The census of an empty index. */
export const NO_CENSUS: Census = { records: 0, passages: 0, terms: 0, first: 0, last: 0 };

/** Returns the census of a single record. */
export function censusOf({ found, passages, terms }: IndexedRecord): Census {
  return { records: 1, passages, terms, first: found.pos, last: found.pos };
}

// Bits of the `traits` column.
const QUESTION = 1;
const TIME = 2;

/** Returns the columns of a record in the order above; -1 stands for no importance or confidence. */
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
    (found.isQuestion ? QUESTION : 0) + (found.mentionsTime ? TIME : 0),
    row.id,
    row.branch,
    // PostgreSQL text cannot contain NUL. A reader with such a name does not see the record under another
    // name.
    reachOf(record).replaceAll("\0", ""),
    record.agent,
    Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength),
  ] as const;
}

/** A record of the index, with the columns that decide which readers may see it. */
export interface FeatureRow {
  readonly pos: number;
  readonly seq: number;
  readonly id: string;
  readonly branch: string;
  readonly reach: string;
  readonly found: RecordFeatures;
}

/** Returns the row for columns in the order above. */
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
    mentionsTime: (traits & TIME) !== 0,
    packed: toUint32Array(packed),
  };
  return { pos, seq, id, branch, reach, found };
}

/** Views bytes as 32-bit numbers; copies them if they do not start at a multiple of four. */
export function toUint32Array(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

/** The words of agent names. A small cache is enough, because few agents write most records. */
const names = new GenerationalCache<string, readonly string[]>(1_000);

function namesOf(agent: string): readonly string[] {
  const known = names.get(agent);
  if (known !== undefined) return known;
  const words = wordsOf(agent);
  names.set(agent, words);
  return words;
}
