/**
 * Reads the index file for a search. Its rows never change, so recently read ones are cached: records that
 * many queries match, and the postings of frequent words until something is added to the index.
 */
import type { StatementSync } from "node:sqlite";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import type { Census } from "../../../search/ranking-sources.ts";
import { type FeatureRow, featureRowOf } from "../../feature-row.ts";
import { scalarOf } from "../scalar.ts";
import type { IndexFile } from "./index-file.ts";

/** About 10 MB of records, and the same of postings. */
const MAX_CACHED_RECORDS = 10_000;
const MAX_CACHED_LISTS = 2_000;

/** Positions from `from` to before `before`. */
interface Range {
  readonly before: number;
  readonly from: number;
  readonly limit: number;
}

/** Statements and caches over one open index. */
export class IndexReader {
  readonly #census: StatementSync;
  readonly #postings: StatementSync;
  readonly #records: StatementSync;
  readonly #before: StatementSync;
  readonly #after: StatementSync;
  readonly #recordsKept = new GenerationalCache<number, FeatureRow>(MAX_CACHED_RECORDS);
  readonly #listsKept = new GenerationalCache<string, readonly number[]>(MAX_CACHED_LISTS);
  #watermark = 0;

  constructor(index: IndexFile) {
    this.#census = index.prepare(
      "select records, passages, terms, first, last from census where space = ?",
    );
    // One JSON array: creating a row per position takes half as long again.
    this.#postings = index.prepare(`select json_group_array(rowid) from (
      select rowid from tokens where tokens match ? and rowid < ? and rowid >= ?
      order by rowid desc limit ?)`);
    this.#records = index.prepare(`select pos, session, time, stored_at, valid_until, seq,
      importance, confidence, traits, id, branch, reach, agent, packed from records
      where pos in (select value from json_each(?))`);
    this.#before = index.prepare(
      "select pos from records where session = ? and pos < ? order by pos desc limit ?",
    );
    this.#after = index.prepare(
      "select pos from records where session = ? and pos > ? and pos <= ? order by pos limit ?",
    );
  }

  /** Sets the current watermark. If it has moved, cached postings may be incomplete and are dropped. */
  at(watermark: number): void {
    if (watermark === this.#watermark) return;
    this.#watermark = watermark;
    this.#listsKept.clear();
  }

  /** Returns the census of a space; undefined if the index has no records of it. */
  census(space: number): Census | undefined {
    const row = this.#census.get(space) as unknown as number[] | undefined;
    if (row === undefined) return undefined;
    const [records = 0, passages = 0, terms = 0, first = 0, last = 0] = row;
    return { records, passages, terms, first, last };
  }

  /** Returns the positions that match an FTS5 query, newest first. */
  postings(query: string, { before, from, limit }: Range): readonly number[] {
    const key = JSON.stringify([query, before, from, limit]);
    const known = this.#listsKept.get(key);
    if (known !== undefined) return known;
    const row = this.#postings.get(query, before, from, limit);
    const list = JSON.parse(scalarOf<string>(row) ?? "[]") as number[];
    this.#listsKept.set(key, list);
    return list;
  }

  /** Returns the features of records, in no particular order; unknown positions are left out. */
  records(positions: readonly number[]): readonly FeatureRow[] {
    const found: FeatureRow[] = [];
    const unknown: number[] = [];
    for (const pos of positions) {
      const known = this.#recordsKept.get(pos);
      if (known === undefined) unknown.push(pos);
      else found.push(known);
    }
    if (unknown.length === 0) return found;
    for (const raw of this.#records.iterate(JSON.stringify(unknown))) {
      const row = featureRowOf(raw);
      this.#recordsKept.set(row.pos, row);
      found.push(row);
    }
    return found;
  }

  /** Returns up to `reach` positions of the session before `pos`, nearest first. */
  before(session: number, pos: number, reach: number): number[] {
    return this.#before.all(session, pos, reach).map((row) => scalarOf<number>(row) as number);
  }

  /** Returns up to `reach` positions of the session after `pos`, nearest first. */
  after(session: number, pos: number, { upTo, reach }: { upTo: number; reach: number }): number[] {
    return this.#after.all(session, pos, upTo, reach).map((row) => scalarOf<number>(row) as number);
  }
}
