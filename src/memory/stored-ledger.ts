/**
 * The stored form of a task's ledger: one entry per task, named after it. Contains the original intent
 * verbatim, the must-constraints, open decisions, progress, releases with their reasons, and the parent
 * tasks. Inherited items are stored in the ledgers of the parents only.
 */
import type { EntryRow } from "../store/rows.ts";
import { parseText } from "../store/rows.ts";

/** The kind of entry. */
export const LEDGER = "ledger";

/** Which agent stated something, when (ms since the epoch), and in which envelope. */
export interface Provenance {
  readonly at: number;
  readonly by: string;
  readonly envelope: string;
  /** The handoff record; absent for an item taken from the envelope that is continued. */
  readonly record?: string | undefined;
}

/** A must-constraint. */
export interface StoredConstraint extends Provenance {
  readonly id: string;
  readonly rule: string;
  readonly source?: string | undefined;
}

/** An open decision. */
export interface StoredDecision extends Provenance {
  readonly id: string;
  readonly options: readonly string[];
  /** The agent that decides; absent if any agent of the task may. */
  readonly owner?: string | undefined;
  readonly question: string;
}

/** Reported progress: done, not to be redone, or blocked. Stays until it is released. */
export interface StoredProgress extends Provenance {
  readonly id: string;
  readonly kind: "blocked" | "doNotRedo" | "done";
  /** What a blocked item waits for; absent for other kinds. */
  readonly on?: string | undefined;
  /** The path in the envelope, such as `done[2]`. */
  readonly path: string;
  readonly text: string;
}

/** A released item. It is kept, so that an old copy of the item does not bring it back. */
export interface StoredRelease {
  readonly at: number;
  readonly by: string;
  /** The choice that was made; only for a decision. */
  readonly decided?: string | undefined;
  readonly id: string;
  readonly kind: "constraint" | "decision" | StoredProgress["kind"];
  readonly reason: string;
  /** The id of the memory that records the release. */
  readonly record: string;
  /** The text of the rule, question or progress item. */
  readonly said: string;
  /** The agent that set the item. */
  readonly setBy: string;
}

/** The state of a queued task. */
export interface StoredQueueState {
  /** The tasks it waits for. */
  readonly after: readonly string[];
  readonly at: number;
  readonly by: string;
  /** What closes the task: the end of its line ("automatic"), or a separate call. */
  readonly closing: "automatic" | "manual";
  /** The task it is a part of, if any. */
  readonly parent?: string | undefined;
}

/** How and why a task was closed; the record contains the reason too. */
export interface StoredClosing {
  readonly as: "done" | "failed" | "cancelled";
  readonly at: number;
  readonly by: string;
  readonly reason: string;
  readonly record: string;
  /** The id of the record that the reason was copied from; absent if the reason was given. */
  readonly repeats?: string | undefined;
}

/**
 * A closing of the task and its parts that is in progress. Any process that finds it continues it; the task
 * takes no new handoffs.
 */
export interface StoredEnding extends Pick<StoredClosing, "as" | "by" | "reason"> {
  /** The id of the record that caused it. */
  readonly causedBy?: string | undefined;
  /** Ids of deliveries that stay open. */
  readonly except: readonly string[];
}

/** A reopened task. Deliveries that had ended before do not close it again. */
export interface StoredReopening {
  readonly at: number;
  readonly by: string;
  /** Deliveries given up before, with their last attempt; they are already decided and not reported again. */
  readonly givenUp?: readonly { readonly attempt: number; readonly delivery: string }[] | undefined;
  /** The record of the last settlement before; empty if there was none. */
  readonly past: string;
  readonly reason: string;
  readonly record: string;
}

/** The ledger of one task, without inherited items. */
export interface StoredLedger {
  /** The handoff that started the task. */
  readonly begun: Provenance;
  /** The id of the memory with the full intent; absent if `intent` is complete. */
  readonly brief?: string | undefined;
  readonly closed?: StoredClosing | undefined;
  readonly constraints: readonly StoredConstraint[];
  readonly decisions: readonly StoredDecision[];
  /** Present while the task and its parts are being closed. */
  readonly ending?: StoredEnding | undefined;
  /** The tasks it inherits from directly. */
  readonly from: readonly string[];
  readonly intent: string;
  /** Absent if there is none. */
  readonly progress?: readonly StoredProgress[] | undefined;
  /** Present if the task was put into the queue. */
  readonly queue?: StoredQueueState | undefined;
  readonly released: readonly StoredRelease[];
  readonly reopened?: StoredReopening | undefined;
}

/** Parses a ledger entry. */
export const storedLedgerOf = (entry: EntryRow): StoredLedger =>
  parseText<StoredLedger>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
