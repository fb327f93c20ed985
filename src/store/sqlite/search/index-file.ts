/**
 * The index: a second file next to the store, derived from it and filled after writes are acknowledged.
 *
 * Per record it contains the terms and facets (task, agent, session, type, tags …) as tokens of one FTS5
 * table, and a row with the features that ranking uses, up to a watermark. Records after the watermark are
 * scanned, so a record can be found as soon as it is acknowledged. Because it is a separate file, filling it
 * never takes the store's write lock, and it may be deleted at any time.
 *
 * The watermark contains the link of its record, so that an index of another or an older store is detected
 * and rebuilt.
 */
import { rmSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { createForSqlite, modeOf } from "../../../base/files/private-file.ts";
import { appendCensus } from "../../../search/in-memory-sources.ts";
import type { Census } from "../../../search/ranking-sources.ts";
import { memoryOf } from "../../codecs.ts";
import { censusOf, featureColumns, NO_CENSUS } from "../../feature-row.ts";
import {
  type IndexableRow,
  type IndexedRecord,
  indexedRecord,
  spaceKey,
  spaceOf,
} from "../../search.ts";
import { readRedactionCount, setRedactionCount } from "../operations/redaction-count.ts";
import { tokensOf } from "./index-tokens.ts";

/** Increase it when the content of the index changes: older indexes are then rebuilt. */
const INDEX_VERSION = 4;

/** How long the housekeeper's thread waits for another process that is filling the same index. */
const WAIT_MS = 2_000;

/**
 * The "ascii" tokenizer keeps every non-ASCII character inside its token. Words are already split, by a newer
 * version of Unicode than SQLite's, which recognizes fewer letters.
 */
const SCHEMA = `
  create table watermark (
    one integer primary key check (one = 1),
    version integer not null,
    position integer not null,
    link text not null
  ) strict;
  insert into watermark values (1, ${INDEX_VERSION}, 0, '');
  create virtual table tokens using fts5 (
    text, content = '', detail = none, columnsize = 0, tokenize = "ascii"
  );

  -- Totals of each space (index-tokens.ts): which terms are frequent in it, and which are rare.
  create table census (
    space integer primary key,
    records integer not null,
    passages integer not null,
    terms integer not null,
    first integer not null,
    last integer not null
  ) strict;

  create table records (
    pos integer primary key,
    session integer not null,
    time integer not null,
    stored_at integer not null,
    valid_until integer not null,
    seq integer not null,
    -- -1: not specified.
    importance real not null,
    confidence real not null,
    traits integer not null,
    id text not null,
    branch text not null,
    reach text not null,
    agent text not null,
    packed blob not null
  ) strict;
  create index records_session on records (session, pos);
`;

/** The last record in the index. */
export interface Watermark {
  readonly position: number;
  readonly link: string;
}

/** Converts a row of `memoriesAfter`: the memory's columns, then its envelope's text and its workspace. */
export function indexableRowOf(row: unknown): IndexableRow {
  const [envelope, workspace] = (row as unknown[]).slice(-2) as [string | null, number];
  return { ...memoryOf(row), envelope: envelope ?? undefined, workspace };
}

/** Returns the path of a store's index. */
export const indexPath = (file: string): string => `${file}.index`;

/** An open index. */
export class IndexFile {
  /** How many redactions the store had when the index was made. */
  readonly redactions: number;
  readonly #db: DatabaseSync;
  readonly #watermark: StatementSync;
  readonly #match: StatementSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
    this.redactions = readRedactionCount(db);
    this.#watermark = db.prepare("select position, link from watermark");
    this.#match = db.prepare(
      "select rowid as pos from tokens where tokens match ? and rowid < ? order by rowid desc",
    );
  }

  /** Opens the index for filling; creates it, or replaces one of another version. */
  static openForFilling(file: string, redactions: number): IndexFile {
    const path = indexPath(file);
    createForSqlite(path, modeOf(file));
    const db = new DatabaseSync(path, { timeout: WAIT_MS });
    // Losing the newest part in a power cut costs filling it again: no sync per commit.
    db.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -16000");
    db.exec("begin immediate");
    const version = indexVersion(db);
    if (version === 0) {
      db.exec(SCHEMA);
      setRedactionCount(db, redactions);
    }
    db.exec("commit");
    if (version === 0 || version === INDEX_VERSION) return new IndexFile(db);
    db.close();
    removeIndex(file);
    return IndexFile.openForFilling(file, redactions);
  }

  /** Opens the index for reading; undefined if there is none. */
  static openForReading(file: string, { cacheKb = 2_000 } = {}): IndexFile | undefined {
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(indexPath(file), { readOnly: true, timeout: 0 });
      db.exec(`pragma cache_size = -${cacheKb}`);
      if (indexVersion(db) === INDEX_VERSION) return new IndexFile(db);
    } catch {
      // Not made yet, or damaged: everything is scanned until the housekeeper has made it.
    }
    db?.close();
    return undefined;
  }

  /** Prepares a statement that returns rows as arrays, for readers of other tables. */
  prepare(sql: string): StatementSync {
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs reads in one snapshot. */
  atOneMoment<T>(look: () => Promise<T>): Promise<T> {
    this.#db.exec("begin");
    return look().finally(() => {
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec("rollback");
    });
  }

  /** Returns the last record that the index covers. */
  watermark(): Watermark {
    return this.#watermark.get() as unknown as Watermark;
  }

  /** Yields the positions before `before` that match an FTS5 query, newest first. */
  *find(query: string, before: number): Iterable<number> {
    for (const row of this.#match.iterate(query, before)) yield row["pos"] as number;
  }

  /** Adds the records after the watermark that `read` returns, in one transaction. Returns how many. */
  fill(read: (after: number) => readonly IndexableRow[]): number {
    this.#db.exec("begin immediate");
    try {
      const rows = read(this.watermark().position);
      if (rows.length > 0) new IndexWriter(this.#db).add(rows);
      this.#db.exec("commit");
      return rows.length;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("rollback");
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** Adds the records of one transaction. */
class IndexWriter {
  readonly #db: DatabaseSync;
  readonly #addTokens: StatementSync;
  readonly #addRecord: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#addTokens = db.prepare("insert into tokens (rowid, text) values (?, ?)");
    this.#addRecord = db.prepare(
      `insert into records (pos, session, time, stored_at, valid_until, seq, importance, confidence,
        traits, id, branch, reach, agent, packed) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  add(rows: readonly IndexableRow[]): void {
    const added = new Map<number, Census>();
    for (const row of rows) {
      const indexed = indexedRecord(row);
      this.#addTokens.run(row.pos, tokensOf(row, indexed));
      if (indexed === undefined) continue;
      this.#put(indexed);
      const space = spaceKey(row.workspace, spaceOf(row.branch));
      added.set(space, appendCensus(added.get(space) ?? NO_CENSUS, censusOf(indexed)));
    }
    for (const [space, census] of added) this.#count(space, census);
    const last = rows.at(-1) as IndexableRow;
    this.#db.prepare("update watermark set position = ?, link = ?").run(last.pos, last.link);
  }

  #put(indexed: IndexedRecord): void {
    this.#addRecord.run(...featureColumns(indexed));
  }

  #count(space: number, { records, passages, terms, first, last }: Census): void {
    this.#db
      .prepare(
        `insert into census values (?, ?, ?, ?, ?, ?) on conflict do update set
          records = records + excluded.records, passages = passages + excluded.passages,
          terms = terms + excluded.terms, last = excluded.last`,
      )
      .run(space, records, passages, terms, first, last);
  }
}

/** Deletes the index of a store. */
export function removeIndex(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(indexPath(file) + suffix, { force: true });
}

/** Returns the version of the index; 0 for an empty file. */
function indexVersion(db: DatabaseSync): number {
  const made = db.prepare("select 1 from sqlite_schema where name = 'watermark'").get();
  if (made === undefined) return 0;
  return (db.prepare("select version from watermark").get() as { version: number }).version;
}
