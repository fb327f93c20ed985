/** Messages between a store and the process that runs SQL queries for it. */
import type { QueryOutcome, RunQuery, SqlValue } from "../sql-query.ts";

/** A base table to create and fill, for stores that do not have SQLite tables. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
}

/** What the query reads: a database file, or tables passed along. `workspace` is the workspace's key. */
export type QuerySource =
  | { readonly kind: "file"; readonly file: string; readonly workspace: number }
  | { readonly kind: "tables"; readonly tables: readonly Table[]; readonly workspace: number };

/** A query and the data it runs on. */
export interface QueryRequest {
  readonly source: QuerySource;
  readonly query: RunQuery;
}

/** A message from the query process; `ended` is created by the pool when the process has to be killed. */
export type ProcessResponse =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly outcome: QueryOutcome }
  /** The process was killed, or killed itself; the outcome is reported on its behalf. */
  | { readonly kind: "ended"; readonly outcome: QueryOutcome }
  /** The store itself could not be read. */
  | { readonly kind: "broken"; readonly message: string };

/** The signal with which a process ends itself when it uses too much memory. Nothing else sends it. */
export const OUT_OF_MEMORY_SIGNAL = "SIGUSR2";
