/**
 * Ranking sources over records in memory: all records in the reference store, and in the other stores the
 * records that are not indexed yet.
 */
import { analyse, type TextToAnalyse } from "./analyse.ts";
import { datesOf } from "./query.ts";
import type {
  Census,
  PostingRequest,
  RecordFeatures,
  SessionNeighbours,
} from "./ranking-sources.ts";
import { wordsOf } from "./words.ts";

/** A record in the form in which it is indexed. */
export interface Indexable extends TextToAnalyse {
  readonly pos: number;
  readonly agent: string;
  readonly session: string;
  /** The time the record is about, in milliseconds. */
  readonly when: number;
  /** The time it was stored, in milliseconds. */
  readonly storedAt: number;
  readonly validUntil?: number | undefined;
  readonly importance?: number | undefined;
  readonly confidence?: number | undefined;
}

/** An indexed record, with its tokens and its share of the census. */
export interface IndexEntry {
  readonly found: RecordFeatures;
  readonly tokens: readonly string[];
  readonly passages: number;
  readonly terms: number;
}

/** Returns everything that the index stores about a record. */
export function indexEntryOf(record: Indexable): IndexEntry {
  const { packed, tokens, passages, length, isQuestion, mentionsTime } = analyse(record);
  const names = wordsOf(record.agent);
  const { pos, session, when, storedAt, validUntil = 0, importance, confidence } = record;
  return {
    found: {
      pos,
      session,
      names,
      when,
      storedAt,
      validUntil,
      importance,
      confidence,
      isQuestion,
      mentionsTime,
      packed,
    },
    tokens: [
      ...tokens,
      ...datesOf(when).map((date) => `d${date}`),
      ...new Set(names.map((name) => `n${name}`)),
    ],
    passages,
    terms: length,
  };
}

/** An index in memory. */
export class InMemorySources {
  readonly #records = new Map<number, IndexEntry>();
  readonly #postings = new Map<string, number[]>();
  readonly #sessions = new Map<string, number[]>();
  #passages = 0;
  #terms = 0;
  #first = 0;
  #last = 0;

  get size(): number {
    return this.#records.size;
  }

  /** Adds a record. Records must be added in the order of their positions. */
  add(record: IndexEntry): void {
    const { found, tokens, passages, terms } = record;
    this.#records.set(found.pos, record);
    for (const token of tokens) appendTo(this.#postings, token, found.pos);
    appendTo(this.#sessions, found.session, found.pos);
    this.#passages += passages;
    this.#terms += terms;
    if (this.#first === 0) this.#first = found.pos;
    this.#last = found.pos;
  }

  census(): Census {
    return {
      records: this.#records.size,
      passages: this.#passages,
      terms: this.#terms,
      first: this.#first,
      last: this.#last,
    };
  }

  /** Returns the positions of one list, newest first. */
  posting({ token, before, limit }: PostingRequest): number[] {
    const list = this.#postings.get(token) ?? [];
    const found: number[] = [];
    for (let n = list.length - 1; n >= 0 && found.length < limit; n--) {
      const pos = list[n] as number;
      if (pos < before) found.push(pos);
    }
    return found;
  }

  /** Returns the features of a record; undefined for an unknown position. */
  record(pos: number): RecordFeatures | undefined {
    return this.#records.get(pos)?.found;
  }

  /** Returns the records of a session, oldest first. */
  session(session: string): readonly number[] {
    return this.#sessions.get(session) ?? [];
  }

  /** Returns up to `reach` neighbours of a record in its session, on either side. */
  beside({ pos, session }: RecordFeatures, reach: number): SessionNeighbours {
    const list = this.session(session);
    const at = list.indexOf(pos);
    return {
      pos,
      before: list.slice(Math.max(0, at - reach), at).reverse(),
      after: list.slice(at + 1, at + 1 + reach),
    };
  }
}

function appendTo(lists: Map<string, number[]>, key: string, pos: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [pos]);
  else list.push(pos);
}

/** Returns the totals of two sets of records, the second newer than the first. */
export function appendCensus(before: Census, after: Census): Census {
  return {
    records: before.records + after.records,
    passages: before.passages + after.passages,
    terms: before.terms + after.terms,
    first: before.records === 0 ? after.first : before.first,
    last: after.records === 0 ? before.last : after.last,
  };
}
