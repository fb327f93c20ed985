/**
 * The index: a second file beside the store, derived from it and filled after the acknowledgement.
 *
 * It holds, per record, its words and its facets (task, agent, session, type, tags) as tokens of
 * one FTS5 table, up to a watermark. Whatever lies beyond the watermark is scanned, so a record can
 * be found the moment it is acknowledged. A file of its own means that filling it never takes the
 * store's write lock; and it may be deleted at any time.
 *
 * The watermark carries the link of its record: an index of another or an older store is noticed
 * and made anew.
 */
import { rmSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { sha256 } from "../../canonical.ts";
import { memoryOf, type PositionedMemory } from "../codecs.ts";
import { type Facets, facetsOf, findableText, sessionOf } from "../filter.ts";
import type { MemoryFilter } from "../store.ts";
import { wordsOf } from "../words.ts";

/** Changes when what is put into the index changes: an older index is then made anew. */
const INDEX_VERSION = 2;

/** How long the housekeeper's thread waits for another process that fills the same index. */
const WAIT_MS = 2_000;

/**
 * The "ascii" tokenizer keeps every other character inside its token: words come split already, by
 * a newer Unicode than SQLite's own, whose idea of a letter is narrower.
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
`;

export interface Watermark {
  readonly position: number;
  readonly link: string;
}

export interface IndexedRow extends PositionedMemory {
  readonly workspace: number;
}

/** A record with its workspace in the column after its own. */
export function indexedRowOf(row: unknown): IndexedRow {
  return { ...memoryOf(row), workspace: (row as unknown[]).at(-1) as number };
}

export const indexPath = (file: string): string => `${file}.index`;

export class IndexFile {
  readonly #db: DatabaseSync;
  readonly #watermark: StatementSync;
  readonly #move: StatementSync;
  readonly #add: StatementSync;
  readonly #match: StatementSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
    this.#watermark = db.prepare("select position, link from watermark");
    this.#move = db.prepare("update watermark set position = ?, link = ?");
    this.#add = db.prepare("insert into tokens (rowid, text) values (?, ?)");
    this.#match = db.prepare(
      "select rowid as pos from tokens where tokens match ? and rowid < ? order by rowid desc",
    );
  }

  /** Opens the index, making it (anew) where needed. For the one who fills it. */
  static openForFilling(file: string): IndexFile {
    const path = indexPath(file);
    const db = new DatabaseSync(path, { timeout: WAIT_MS });
    // Losing the newest part in a power cut costs filling it again: no sync per commit.
    db.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -16000");
    db.exec("begin immediate");
    const version = indexVersion(db);
    if (version === 0) db.exec(SCHEMA);
    db.exec("commit");
    if (version === 0 || version === INDEX_VERSION) return new IndexFile(db);
    db.close();
    removeIndex(file);
    return IndexFile.openForFilling(file);
  }

  /** Opens the index for looking things up; undefined while there is none. */
  static openForReading(file: string): IndexFile | undefined {
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(indexPath(file), { readOnly: true, timeout: 0 });
      if (indexVersion(db) === INDEX_VERSION) return new IndexFile(db);
    } catch {
      // Not made yet, or damaged: everything is scanned until the housekeeper has made it.
    }
    db?.close();
    return undefined;
  }

  watermark(): Watermark {
    return this.#watermark.get() as unknown as Watermark;
  }

  /** Positions of records with at least one of the tokens, newest first. */
  *find(query: string, before: number): Iterable<number> {
    for (const row of this.#match.iterate(query, before)) yield row["pos"] as number;
  }

  /** Adds the records after the watermark that `read` returns. One transaction. */
  fill(read: (after: number) => readonly IndexedRow[]): number {
    this.#db.exec("begin immediate");
    try {
      const rows = read(this.watermark().position);
      for (const row of rows) this.#add.run(row.pos, tokensOf(row));
      const last = rows.at(-1);
      if (last !== undefined) this.#move.run(last.pos, last.link);
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

export function removeIndex(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(indexPath(file) + suffix, { force: true });
}

function indexVersion(db: DatabaseSync): number {
  const made = db.prepare("select 1 from sqlite_schema where name = 'watermark'").get();
  if (made === undefined) return 0;
  return (db.prepare("select version from watermark").get() as { version: number }).version;
}

function tokensOf(row: IndexedRow): string {
  const facets = readable(row);
  if (facets === undefined) return "";
  const { type, agent, task, tags = [] } = facets;
  const scope = { workspace: row.workspace, branch: row.branch };
  const tokens = [
    facet(scope, "type", type),
    facet(scope, "agent", agent),
    facet(scope, "session", sessionOf(facets)),
    ...(task === undefined ? [] : [facet(scope, "task", task)]),
    ...tags.map((tag) => facet(scope, "tag", tag)),
  ];
  return `${wordsOf(findableText(facets)).join(" ")} ${tokens.join(" ")}`;
}

/** A damaged record is verify's business: the ones after it must still be found. */
function readable(row: IndexedRow): Facets | undefined {
  try {
    return facetsOf(row);
  } catch {
    return undefined;
  }
}

/** A facet as one token that no word of a text can be mistaken for: a hash, checked on the row. */
function facet(
  scope: { readonly workspace: number; readonly branch: string },
  kind: string,
  value: string,
): string {
  return `zq${sha256(JSON.stringify([scope.workspace, scope.branch, kind, value])).slice(0, 24)}`;
}

/** The FTS5 query for a filter's facets; empty when it has none. */
export function facetQuery(workspace: number, filter: MemoryFilter): string {
  const { branch, ...facets } = filter;
  return Object.entries(facets)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([kind, value]) => `"${facet({ workspace, branch }, kind, value)}"`)
    .join(" AND ");
}

export function wordQuery(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}
