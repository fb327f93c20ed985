/** What the store and its housekeeper's thread say to each other. */
import type { Books, VerifyProgress, VerifyReport } from "../store.ts";

/** Jobs somebody waits for. */
export type Job =
  | { readonly kind: "verify"; readonly workspace: string }
  | { readonly kind: "books"; readonly workspace: string }
  /** The index cannot be read: away with it, and begin a new one. */
  | { readonly kind: "remake" };

export interface JobResults {
  readonly verify: VerifyReport;
  readonly books: Books;
  readonly remake: undefined;
}

export type ToThread =
  | { readonly kind: "job"; readonly number: number; readonly job: Job }
  /** Records were appended: there is something to index, and perhaps to checkpoint. */
  | { readonly kind: "committed" }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "progress"; readonly number: number; readonly progress: VerifyProgress }
  | { readonly kind: "done"; readonly number: number; readonly result: JobResults[Job["kind"]] }
  | { readonly kind: "failed"; readonly number: number; readonly error: unknown };

export interface ThreadData {
  readonly file: string;
}
