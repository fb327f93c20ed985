/**
 * The tail: records beyond the index's watermark, taken apart once and kept until the index has
 * them, so that a search finds what was acknowledged a moment ago without reading it again.
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
 * So many of the newest are kept. More are beyond the index only while it is being made anew; what
 * lies between is found when it is there, and the answer says how far it is.
 */
const MAX_TAIL_RECORDS = 20_000;

export interface TailBounds {
  readonly watermark: number;
  readonly last: number;
  /** Tells redactions apart: after another one, nothing that is kept may be. */
  readonly redactions: number;
}

export interface TailSource extends TailBounds {
  /** Records after a position, some at a time. */
  readonly read: (after: number) => readonly IndexableRow[];
}

/** What is kept. Once somebody searches in it, only newer records are ever added to it. */
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

  after(pos: number): TailRecords {
    const left = new TailRecords();
    for (const [each, indexed] of this.#records) if (each > pos) left.add(indexed);
    return left;
  }
}

export class UnindexedTail {
  #kept = new TailRecords();
  #from = 0;
  #to = 0;
  #redactions = 0;

  /** Brings it up to date with what lies after the watermark. */
  follow({ read, ...beyond }: TailSource): void {
    this.begin(beyond);
    for (let rows = read(this.after); rows.length > 0; rows = read(this.after)) this.add(rows);
  }

  /** Lets go of what is no longer beyond; what comes after `after` is then to be added. */
  begin({ watermark, last, redactions }: TailBounds): void {
    const from = Math.max(watermark, last - MAX_TAIL_RECORDS);
    if (from < this.#from || last < this.#to || redactions !== this.#redactions) this.#forget();
    this.#redactions = redactions;
    if (from > this.#from) this.#kept = this.#kept.after(from);
    this.#from = from;
  }

  /** Up to here everything beyond is kept. */
  get after(): number {
    return Math.max(this.#from, this.#to);
  }

  add(rows: readonly IndexableRow[]): void {
    for (const row of rows) {
      this.#to = row.pos;
      const indexed = indexedRecord(row);
      if (indexed !== undefined) this.#kept.add(indexed);
    }
  }

  /** For a search, which goes on with it whatever others do meanwhile. */
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
