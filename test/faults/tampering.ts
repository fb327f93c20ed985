/** Changes a store's file directly, one change at a time, and restores it. */
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { rowsOf, type StoreRow, tablesOf } from "../support/store-dump.ts";

type Value = string | number | null;

export interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: "INTEGER" | "TEXT";
}

/** Tables of vectors, and of the progress of each model. */
const DERIVED = ["models", "signatures", "vectors"];

export class Tampering implements Disposable {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file);
    this.#db.exec("pragma synchronous = off"); // Nothing here has to survive a power failure.
  }

  /**
   * Lists the columns of everything that was written; derived tables can be rebuilt at any time.
   */
  columns(): Column[] {
    const written = tablesOf(this.#db).filter((table) => !DERIVED.includes(table));
    return written.flatMap((table) =>
      this.#info(table).map(({ name, type }) => ({ table, column: name, type })),
    );
  }

  rows(table: string): StoreRow[] {
    return rowsOf(this.#db, table);
  }

  run(sql: string, ...values: (Value | Uint8Array)[]): number {
    return Number(this.#db.prepare(sql).run(...values).changes);
  }

  /** Changes one field of one row. Text is passed as bytes, so that it may be invalid. */
  set({ table, column }: Column, row: StoreRow, value: number | Uint8Array): void {
    const names = Object.keys(row);
    const where = names.map((name) => `"${name}" is ?`).join(" and ");
    const set = typeof value === "number" ? "?" : "cast(? as text)";
    const changed = this.run(
      `update "${table}" set "${column}" = ${set} where ${where}`,
      value,
      ...names.map((name) => row[name] as Value),
    );
    if (changed !== 1) throw new Error(`${changed} rows of ${table} were changed, not one`);
  }

  /** Applies the damage, runs `check`, and restores every table. */
  async during<Result>(damage: () => void, check: () => Promise<Result>): Promise<Result> {
    const before = tablesOf(this.#db).map((table) => [table, this.rows(table)] as const);
    damage();
    try {
      return await check();
    } finally {
      this.#db.exec("begin");
      for (const [table, rows] of before) {
        if (!isDeepStrictEqual(this.rows(table), rows)) this.#putBack(table, rows);
      }
      this.#db.exec("commit");
    }
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #putBack(table: string, rows: readonly StoreRow[]): void {
    this.#db.exec(`delete from "${table}"`);
    const names = this.#info(table).map(({ name }) => name);
    const insert = this.#db.prepare(
      `insert into "${table}" values (${names.map(() => "?").join(", ")})`,
    );
    for (const row of rows) insert.run(...names.map((name) => row[name] as Value));
  }

  #info(table: string): { name: string; type: Column["type"] }[] {
    return this.#db.prepare(`pragma table_info("${table}")`).all() as never;
  }
}
