/**
 * Types of the read-only SQL query operation. A store runs the query over the views of sql/views.ts only: no
 * other workspace, no records that the reader may not see, and no longer than its time limit.
 */
import type { Visibility } from "./visibility.ts";

/** A query parameter or a cell of the result. */
export type SqlValue = string | number | boolean | null | Uint8Array;

/** A query with its reader and limits. */
export interface RunQuery {
  readonly workspace: string;
  readonly text: string;
  /** In the order of the placeholders in `text`. */
  readonly params: readonly SqlValue[];
  /**
   * What the reader sees. Every branch is visible, with its name in a column; `traces` and `reader` apply as
   * in other reads, and `lines` decides what counts as superseded.
   */
  readonly sight: Pick<Visibility, "lines" | "reader" | "traces" | "quarantined">;
  /** What the `embedding` columns contain: vectors attached by authors, or else those of a model. */
  readonly vectors: {
    readonly attached: boolean;
    /** Empty: no model. */
    readonly model: string;
  };
  readonly bounds: QueryBounds;
}

/** Limits of a query. */
export interface QueryBounds {
  /** Maximum number of rows in the result. */
  readonly rows: number;
  /** Maximum size of the result in bytes, counted as text. */
  readonly bytes: number;
  /** Maximum run time in milliseconds. */
  readonly ms: number;
}

/** The result of a query that ran. */
export interface QueryAnswer {
  readonly kind: "answered";
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
}

/** What a query can end with. */
export type QueryOutcome =
  | QueryAnswer
  /** Not a read of the views; it was not run. */
  | { readonly kind: "refused"; readonly reason: string; readonly hint: string }
  /** The number of parameters does not match the placeholders; it was not run. */
  | { readonly kind: "miscounted"; readonly reason: string; readonly hint: string }
  /** The engine's error message, for example an unknown column or a failed cast. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "timeout" }
  /** The result, or an intermediate result, exceeds a limit. */
  | { readonly kind: "too_large"; readonly bound: "rows" | "bytes" | "memory" };
