/** Reads every row of a SQLite store without Baton, to compare before and after. */
import { DatabaseSync } from "node:sqlite";

export type StoreRow = Readonly<Record<string, string | number | null>>;
export type StoreDump = Readonly<Record<string, readonly StoreRow[]>>;

export function tablesOf(db: DatabaseSync): string[] {
  const rows = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all();
  return rows.map((row) => row["name"] as string).sort();
}

/** Returns all rows, ordered by all columns: some tables have no order of their own. */
export function rowsOf(db: DatabaseSync, table: string): StoreRow[] {
  const columns = db.prepare(`select name from pragma_table_info(?)`).all(table);
  const order = columns.map(({ name }) => `"${name}"`).join(", ");
  return db.prepare(`select * from "${table}" order by ${order}`).all() as StoreRow[];
}

export function dumpStore(file: string): StoreDump {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Object.fromEntries(tablesOf(db).map((table) => [table, rowsOf(db, table)]));
  } finally {
    db.close();
  }
}
