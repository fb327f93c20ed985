/**
 * One read-only question in SQL, and what can come of it. A store answers it over the views of
 * sql/views.ts and nothing else: not another workspace, not what the reader may not see, not for
 * longer than it was given.
 */
import type { Visibility } from "./visibility.ts";

/** What a parameter can be, and what a cell of an answer can hold. */
export type SqlValue = string | number | boolean | null | Uint8Array;

export interface RunQuery {
  readonly workspace: string;
  readonly text: string;
  /** In the order of the text's placeholders. */
  readonly params: readonly SqlValue[];
  /**
   * Every branch is seen, in its column; traces and private records as the sight says. Its lines say
   * what counts as superseded.
   */
  readonly sight: Pick<Visibility, "lines" | "reader" | "traces" | "quarantined">;
  /** What the columns `embedding` show: what authors attached, or else a model's vectors. */
  readonly vectors: {
    readonly attached: boolean;
    /** Empty: none. */
    readonly model: string;
  };
  readonly bounds: QueryBounds;
}

export interface QueryBounds {
  /** The most rows an answer has. */
  readonly rows: number;
  /** The most bytes it has, counted as text. */
  readonly bytes: number;
  readonly ms: number;
}

export interface QueryAnswer {
  readonly kind: "answered";
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
}

export type QueryOutcome =
  | QueryAnswer
  /** Not a read of the views: it was not run. */
  | { readonly kind: "refused"; readonly reason: string; readonly hint: string }
  /** Parameters and placeholders do not agree: it was not run. */
  | { readonly kind: "miscounted"; readonly reason: string; readonly hint: string }
  /** The engine's own words: a column that is not there, a cast that failed. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "timeout" }
  /** The answer, or something on the way to it, is larger than it may be. */
  | { readonly kind: "too_large"; readonly bound: "rows" | "bytes" | "memory" };
