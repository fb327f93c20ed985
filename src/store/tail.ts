/**
 * The tail: records beyond the index's watermark, taken apart once and kept until the index has
 * them, so that a search finds what was acknowledged a moment ago without reading it again.
 */
import { MemorySources } from "../search/memory-sources.ts";
import { type Homed, type IndexedRecord, indexedRecord, spaceKey, spaceOf } from "./search.ts";

/**
 * So many of the newest are kept. More are beyond the index only while it is being made anew; what
 * lies between is found when it is there, and the answer says how far it is.
 */
const MOST = 20_000;

export interface Beyond {
  readonly watermark: number;
  readonly last: number;
  /** Tells redactions apart: after another one, nothing that is kept may be. */
  readonly redactions: number;
}

export interface Following extends Beyond {
  /** Records after a position, some at a time. */
  readonly read: (after: number) => readonly Homed[];
}

/** What is kept. Once somebody searches in it, only newer records are ever added to it. */
export class Kept {
  readonly #records = new Map<number, IndexedRecord>();
  readonly #spaces = new Map<number, MemorySources>();

  record(pos: number): IndexedRecord | undefined {
    return this.#records.get(pos);
  }

  space(key: number): MemorySources | undefined {
    return this.#spaces.get(key);
  }

  add(indexed: IndexedRecord): void {
    this.#records.set(indexed.row.pos, indexed);
    const key = spaceKey(indexed.row.workspace, spaceOf(indexed.row.branch));
    const space = this.#spaces.get(key) ?? new MemorySources();
    this.#spaces.set(key, space);
    space.add(indexed);
  }

  after(pos: number): Kept {
    const left = new Kept();
    for (const [each, indexed] of this.#records) if (each > pos) left.add(indexed);
    return left;
  }
}

export class Tail {
  #kept = new Kept();
  #from = 0;
  #to = 0;
  #redactions = 0;

  /** Brings it up to date with what lies after the watermark. */
  follow({ read, ...beyond }: Following): void {
    this.begin(beyond);
    for (let rows = read(this.after); rows.length > 0; rows = read(this.after)) this.add(rows);
  }

  /** Lets go of what is no longer beyond; what comes after `after` is then to be added. */
  begin({ watermark, last, redactions }: Beyond): void {
    const from = Math.max(watermark, last - MOST);
    if (from < this.#from || last < this.#to || redactions !== this.#redactions) this.#forget();
    this.#redactions = redactions;
    if (from > this.#from) this.#kept = this.#kept.after(from);
    this.#from = from;
  }

  /** Up to here everything beyond is kept. */
  get after(): number {
    return Math.max(this.#from, this.#to);
  }

  add(rows: readonly Homed[]): void {
    for (const row of rows) {
      this.#to = row.pos;
      const indexed = indexedRecord(row);
      if (indexed !== undefined) this.#kept.add(indexed);
    }
  }

  /** For a search, which goes on with it whatever others do meanwhile. */
  get kept(): Kept {
    return this.#kept;
  }

  record(pos: number): IndexedRecord | undefined {
    return this.#kept.record(pos);
  }

  space(key: number): MemorySources | undefined {
    return this.#kept.space(key);
  }

  #forget(): void {
    this.#kept = new Kept();
    this.#from = 0;
    this.#to = 0;
  }
}
