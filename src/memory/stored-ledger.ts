/**
 * What is stored of a task's ledger: an entry under the task's name. It holds what was wanted in the
 * first place, word for word, what must be kept to, which questions are open, what was taken off and
 * why, and whose child the task is. What it inherits stands in the ledgers of its parents.
 */
import type { EntryRow } from "../store/rows.ts";
import { parseText } from "../store/rows.ts";

/** The kind of entry. */
export const LEDGER = "ledger";

/** Who said something, when, and where it stands. */
export interface Provenance {
  readonly at: number;
  readonly by: string;
  readonly envelope: string;
  /** The handoff record; not known of an item that was taken from the envelope that is continued. */
  readonly record?: string | undefined;
}

export interface StoredConstraint extends Provenance {
  readonly id: string;
  readonly rule: string;
  readonly source?: string | undefined;
}

export interface StoredDecision extends Provenance {
  readonly id: string;
  readonly options: readonly string[];
  readonly owner?: string | undefined;
  readonly question: string;
}

/** What a handoff reported as done, not to be redone, or blocked: it holds until it is released. */
export interface StoredProgress extends Provenance {
  readonly id: string;
  readonly kind: "blocked" | "doNotRedo" | "done";
  /** Of a blocker: what it waits for. */
  readonly on?: string | undefined;
  /** Where the envelope says it, such as `done[2]`. */
  readonly path: string;
  readonly text: string;
}

/** What was taken off: it stays, so that nobody brings it back by copying what is old. */
export interface StoredRelease {
  readonly at: number;
  readonly by: string;
  readonly decided?: string | undefined;
  readonly id: string;
  readonly kind: "constraint" | "decision" | StoredProgress["kind"];
  readonly reason: string;
  /** The record that says so. */
  readonly record: string;
  /** The rule, the question or the item, as it was. */
  readonly said: string;
  readonly setBy: string;
}

/** A task in the queue: what it waits for, whose part it is, and whether the end of its line closes it. */
export interface StoredQueueState {
  readonly after: readonly string[];
  readonly at: number;
  readonly by: string;
  readonly closing: "itself" | "told";
  readonly parent?: string | undefined;
}

/** How a task ended, and why: the reason stands in the record too. */
export interface StoredClosing {
  readonly as: "done" | "failed" | "cancelled";
  readonly at: number;
  readonly by: string;
  readonly reason: string;
  readonly record: string;
  /** The record whose words the reason has, where nobody gave another. */
  readonly repeats?: string | undefined;
}

/** It is being ended from above: whoever finds it so goes on with that, and nothing is handed over for it. */
export interface StoredEnding extends Pick<StoredClosing, "as" | "by" | "reason"> {
  /** The record of what it came of. */
  readonly causedBy?: string | undefined;
  /** Deliveries that stay open. */
  readonly except: readonly string[];
}

/** Its closing was taken off. What had ended by then does not close it again. */
export interface StoredReopening {
  readonly at: number;
  readonly by: string;
  /** What had been given up by then, after which try: that was decided, and nobody is asked again. */
  readonly givenUp?: readonly { readonly attempt: number; readonly delivery: string }[] | undefined;
  /** The record of the last settlement then; empty: there was none. */
  readonly past: string;
  readonly reason: string;
  readonly record: string;
}

export interface StoredLedger {
  readonly begun: Provenance;
  /** The record that holds all of an intent that was too long to travel. */
  readonly brief?: string | undefined;
  readonly closed?: StoredClosing | undefined;
  readonly constraints: readonly StoredConstraint[];
  readonly decisions: readonly StoredDecision[];
  readonly ending?: StoredEnding | undefined;
  /** The tasks it inherits from. */
  readonly from: readonly string[];
  readonly intent: string;
  /** Missing where there is none. */
  readonly progress?: readonly StoredProgress[] | undefined;
  /** Of a task that was put into the queue. */
  readonly queue?: StoredQueueState | undefined;
  readonly released: readonly StoredRelease[];
  readonly reopened?: StoredReopening | undefined;
}

export const storedLedgerOf = (entry: EntryRow): StoredLedger =>
  parseText<StoredLedger>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
