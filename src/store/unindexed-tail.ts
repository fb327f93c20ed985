/**
 * Keeps the tail in memory: records after the index's watermark, analysed once and kept until the index
 * covers them, so that a search finds a record right after its write was acknowledged without reading it
 * again.
 */
import { InMemorySources } from "../search/in-memory-sources.ts";
import {
  type IndexableRow,
  type IndexedRecord,
  indexedRecord,
  spaceKey,
  spaceOf,
} from "./search.ts";

/**
 * How many of the newest records are kept. More are unindexed only while the index is being rebuilt. Records
 * in between are found once the index covers them; the search result states how far it is.
 */
const MAX_TAIL_RECORDS = 20_000;

/** The range of the tail. */
export interface TailBounds {
  /** The last position that the index covers. */
  readonly watermark: number;
  /** The last position in the store. */
  readonly last: number;
  /** Identifies the redactions so far: when it changes, everything kept is dropped and read again. */
  readonly redactions: number;
}

/** The range of the tail, and how to read it. */
export interface TailSource extends TailBounds {
  /** Reads a batch of records after a position; empty at the end. */
  readonly read: (after: number) => readonly IndexableRow[];
}

/** Analysed records. While a search uses an instance, only newer records are added to it. */
export class TailRecords {
  readonly #records = new Map<number, IndexedRecord>();
  readonly #spaces = new Map<number, InMemorySources>();

  record(pos: number): IndexedRecord | undefined {
    return this.#records.get(pos);
  }

  space(key: number): InMemorySources | undefined {
    return this.#spaces.get(key);
  }

  add(indexed: IndexedRecord): void {
    this.#records.set(indexed.row.pos, indexed);
    const key = spaceKey(indexed.row.workspace, spaceOf(indexed.row.branch));
    const space = this.#spaces.get(key) ?? new InMemorySources();
    this.#spaces.set(key, space);
    space.add(indexed);
  }

  /** Returns a copy with only the records after a position. */
  after(pos: number): TailRecords {
    const left = new TailRecords();
    for (const [each, indexed] of this.#records) if (each > pos) left.add(indexed);
    return left;
  }
}

/** The tail of one store. */
export class UnindexedTail {
  #kept = new TailRecords();
  #from = 0;
  #to = 0;
  #redactions = 0;

  /** Reads the records that are missing and drops those that the index now covers. */
  follow({ read, ...beyond }: TailSource): void {
    this.begin(beyond);
    for (let rows = read(this.after); rows.length > 0; rows = read(this.after)) this.add(rows);
  }

  /** Drops what is outside the bounds; the caller then adds the records after `after`. */
  begin({ watermark, last, redactions }: TailBounds): void {
    const from = Math.max(watermark, last - MAX_TAIL_RECORDS);
    if (from < this.#from || last < this.#to || redactions !== this.#redactions) this.#forget();
    this.#redactions = redactions;
    if (from > this.#from) this.#kept = this.#kept.after(from);
    this.#from = from;
  }

  /** The position up to which the tail is complete. */
  get after(): number {
    return Math.max(this.#from, this.#to);
  }

  /** Adds the next records, in the order of their positions. */
  add(rows: readonly IndexableRow[]): void {
    for (const row of rows) {
      this.#to = row.pos;
      const indexed = indexedRecord(row);
      if (indexed !== undefined) this.#kept.add(indexed);
    }
  }

  /** The current records. A search keeps using them while others update the tail. */
  get kept(): TailRecords {
    return this.#kept;
  }

  record(pos: number): IndexedRecord | undefined {
    return this.#kept.record(pos);
  }

  space(key: number): InMemorySources | undefined {
    return this.#kept.space(key);
  }

  #forget(): void {
    this.#kept = new TailRecords();
    this.#from = 0;
    this.#to = 0;
  }
}
