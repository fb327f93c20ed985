/**
 * `Work`: an accepted delivery, as its holder uses it. It holds the lease, which every call renews; unless the
 * lease belongs to a session, a heartbeat also renews it while the process lives. It ends by completing,
 * handing on, failing, declining, clarifying or releasing. Work that is not settled at the end of its block
 * releases itself and counts as an attempt.
 */
import type { CheckedContext } from "../context/view/gaps.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { ReserveOptions, ReserveResult } from "../coordination/reservations/reserve.ts";
import type { SendOptions } from "../delivery/send/plan.ts";
import type { Result } from "../delivery/send/result.ts";
import type { Failure } from "../delivery/settle/settle.ts";
import type { NoteResult } from "../delivery/work/note.ts";
import type { OnceResult } from "../delivery/work/once.ts";
import type { ReadMemory } from "../delivery/work/read-record.ts";
import type { ShownView, WorkViewOptions } from "../delivery/work/views.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { DetectedSecret } from "../envelope/mask-secrets.ts";
import type { DetailLevel, DraftOf, EnvelopeOf } from "../envelope/schema.ts";
import type { Delivery, HeldDelivery } from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import type { WorkMerge } from "../memory/branches/work-branch.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { WithSecrets } from "../memory/redaction/secret-policy.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { Sent } from "./sent.ts";

/** The listeners of a work, by event. */
export interface WorkListeners<T> {
  readonly extended: Set<(envelope: EnvelopeOf<T>) => void>;
  readonly warned: Set<(warnings: readonly Warning[]) => void>;
}

/** What settling returns. */
export interface SettleResult {
  readonly kind: "settled";
  /** The delivery after settling. */
  readonly delivery: Delivery;
  /** The result of merging the branch of the work; absent if completing it did not merge a branch. */
  readonly merge?: WorkMerge;
  /** Secrets that were removed from the input, by kind and path. */
  readonly secrets?: readonly DetectedSecret[];
}

/** The events of `work.on()`. */
export interface WorkEvents<T = unknown> {
  /** The sender extended the handoff; the value is the new envelope, also available as `work.envelope`. */
  readonly extended: EnvelopeOf<T>;
  /** Memories that the work carries were quarantined, also before the listener was added. */
  readonly warned: readonly Warning[];
}

/**
 * `work.reservations`: the files this work reserves. Reservations are advisory; conflicts are reported, not
 * enforced.
 */
export interface WorkReservations {
  /**
   * Reserves files or resources by glob, replacing what the work had reserved, and returns the conflicts with
   * other agents. Default globs: what the handoff says its work will touch. Lasts while the work is held.
   */
  set(globs?: string | readonly string[], options?: ReserveOptions): Promise<ReserveResult>;
  /** Deletes the reservations of this work. */
  clear(): Promise<void>;
  /** Conflicts with other agents at the time this work last reserved. */
  readonly conflicts: readonly ReservationConflict[];
}

/** The draft of a handoff that continues work. */
export type NextDraft<Next> = Omit<DraftOf<Next>, "task" | "intent"> &
  Partial<Pick<DraftOf<Next>, "task" | "intent">>;

/**
 * Accepted work, held under a lease that every call renews. Settle it once: complete, fail, decline, clarify,
 * release or hand it on. If the sender extended the handoff meanwhile, settling throws `work_extended` and
 * keeps the lease: read `work.envelope`, which is the new one then, and settle again. After a lost lease,
 * every call throws `lease_lost` (or `cancelled`); after a settlement, settling again throws
 * `already_settled`.
 *
 * Leaving an `await using` block without settling releases the work, counts as an attempt and emits a
 * warning.
 *
 * ```ts
 * await using work = await agent.accept({ wait: true });
 * if (work === undefined) return; // The signal aborted or the hub closed.
 * const view = await work.view();
 * await work.note("Read the spec; two open points.");
 * await work.complete({ summary: "Report written." });
 * ```
 */
export interface Work<T = unknown> extends AsyncDisposable {
  /** The id of the delivery. */
  readonly id: string;
  /**
   * Delivery id and fence (`dlv_…#3`). `agent.resume()` takes it, also in another process. Valid while the
   * work is held.
   */
  readonly handle: string;
  /** The newest envelope that this holder has seen. */
  readonly envelope: EnvelopeOf<T>;
  /** The delivery as accepted, with the current end of the lease. */
  readonly delivery: HeldDelivery;
  /** The primer: what to know before the first step, in less than 2 KB. */
  readonly primer: string;
  /** Earlier attempts, oldest first: what was done, why each ended, questions and answers. */
  readonly attempts: readonly EarlierAttempt[];
  /** What earlier handoffs of the task reported as done, not to be redone, or blocked. */
  readonly progress: readonly LedgerProgress[];
  /** Aborted when the work is cancelled or its lease is lost; `signal.reason` is the error. */
  readonly signal: AbortSignal;
  /** Adds a listener and returns a function that removes it. */
  on<Event extends keyof WorkEvents<T>>(
    event: Event,
    listener: (value: WorkEvents<T>[Event]) => void,
  ): () => void;
  /** Returns the quarantined memories that this work carries. */
  warnings(): Promise<readonly Warning[]>;
  /**
   * Returns the view: what this receiver gets of the handoff within its token budget, with what was omitted,
   * went stale or is missing. It is stored before it is returned; the same options return the same view, also
   * in another process. With `anew: true`, composes it again from the current records. Throws
   * `budget_too_small`.
   */
  view(options?: WorkViewOptions): Promise<ShownView>;
  /** Returns the state of every reference and file of the handoff: fresh, stale or gone. */
  freshness(): Promise<CheckedContext>;
  /**
   * Returns the newest version of a record, by its id or by its short id in a view. Throws `unknown_memory`.
   */
  read(id: string, level?: DetailLevel): Promise<ReadMemory>;
  /** The files this work reserves. */
  readonly reservations: WorkReservations;
  /**
   * Writes a note: a step, a finding or a question. If the lease was lost, the note is stored and marked, and
   * the result has `kind: "kept"`.
   */
  note(input: MemoryInput | string): Promise<NoteResult>;
  /** Records steps of this task on the trace of the session. */
  trace(step: TraceStep): Promise<WithSecrets<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<WithSecrets<Memory>[]>;
  /**
   * Runs a side effect once for this work, also if the work is redelivered. Later calls with the same key
   * return the stored result. Returns `kind: "uncertain"` if an earlier run began and recorded no result.
   */
  once<Value>(key: string, effect: () => Promise<Value> | Value): Promise<OnceResult<Value>>;
  /**
   * Completes the work with a result, checked against what the handoff expects. If a route matches its
   * `outcome`, the task is handed on in the same operation. Throws `invalid_result`.
   */
  complete(result?: Result): Promise<SettleResult>;
  /** Asks the sender a question and releases the work, which is offered again with the answer. */
  clarify(question: string): Promise<SettleResult>;
  /** Ends this attempt as failed; the policy decides whether the delivery is retried. */
  fail(failure: Failure): Promise<SettleResult>;
  /** Declines the work permanently. */
  decline(reason: string): Promise<SettleResult>;
  /** Returns the work to the inbox. Counts as an attempt. */
  release(): Promise<Delivery>;
  /**
   * Completes this work and sends the next envelope of the task in one operation. `task` and `intent` default
   * to those of this work.
   */
  handoff<Next extends object = object>(
    draft: NextDraft<Next>,
    sending?: Pick<SendOptions, "completes" | "receivers" | "result">,
  ): Promise<Sent<Next>>;
  /** Renews the lease. Every other call renews it too, and so does a heartbeat in between. */
  renew(): Promise<void>;
}
