/** What a store and the process that answers questions for it say to each other. */
import type { QueryOutcome, RunQuery, SqlValue } from "../sql-query.ts";

/** A base table to be filled, for stores that have none. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
}

export type QuerySource =
  | { readonly kind: "file"; readonly file: string; readonly workspace: number }
  | { readonly kind: "tables"; readonly tables: readonly Table[]; readonly workspace: number };

export interface QueryRequest {
  readonly source: QuerySource;
  readonly query: RunQuery;
}

export type ProcessResponse =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly outcome: QueryOutcome }
  /** It had to be ended, or ended itself: said in its place. */
  | { readonly kind: "ended"; readonly outcome: QueryOutcome }
  /** The store itself could not be read. */
  | { readonly kind: "broken"; readonly message: string };

/** The signal a process ends itself with when it needs too much memory: nothing else sends it. */
export const OUT_OF_MEMORY_SIGNAL = "SIGUSR2";
