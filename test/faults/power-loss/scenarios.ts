/** What a recorded run does and what it notes: shared by the program that runs it and by the replay. */

/** A failure of one or more writes or syncs. */
export interface Fault {
  readonly op: "write" | "sync";
  /** End of the file's path; `*` for any file. */
  readonly file: string;
  /** How many matching calls succeed first. */
  readonly skip: number;
  /** How many fail after that. */
  readonly times: number;
  readonly error: "EIO" | "ENOSPC";
}

export interface Scenario {
  /** Also the name of its folder. */
  readonly name: string;
  /**
   * `short`: every kind of write, a truncated log, closing and opening again. `long`: enough for several
   * checkpoints in the background, the first of them while a reader keeps the log.
   */
  readonly kind: "short" | "long";
  readonly seed: number;
  /** In a long scenario, it is set after the first checkpoint, which the reader made incomplete. */
  readonly fault?: Fault;
}

/** A line in the file `acknowledged`, written the moment the caller has its answer. */
export type Note =
  /** A memory whose content begins with `item-<n>`: a rejected write is `uncertain` if its error says so. */
  | { readonly item: number; readonly outcome: "stored" | "refused" | "uncertain" }
  | { readonly envelope: string }
  | { readonly completed: string }
  /** A memory whose body was erased. With `fromFiles`, the report names no file that may still contain it. */
  | { readonly redacted: string; readonly fromFiles: boolean }
  | { readonly failed: string; readonly code: string };

/** What the erased body repeats, so that each of its pages contains it. */
export const ERASED = "erased-text-that-must-not-return ";

export const NOTES = "acknowledged";
export const CONTROL = "control";
/** Relative to the scenario's folder. Its own folder does not exist before the run. */
export const STORE = ".baton/hub.db";
