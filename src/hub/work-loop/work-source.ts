/** What the worker loop needs of an agent. Implemented by the agent in this process and by the one over HTTP. */
import type { LeaseKind } from "../../delivery/receive/worker.ts";
import type { Result } from "../../delivery/send/result.ts";
import type { Work } from "../work.ts";

/** Begins work that was claimed together with a completion. Can be called again after an error. */
export type ClaimedWork<T> = () => Promise<Work<T>>;

/** Where a worker loop gets its work from. */
export interface WorkSource<T> {
  /** Nothing but calls renews the leases of a session. */
  readonly lease: LeaseKind;
  readonly leaseMs: number;
  /**
   * Claims and accepts the next handoff; undefined if nothing is ready, or if the signal or the closing hub
   * ended the wait.
   */
  accept(waiting: {
    readonly wait: boolean;
    readonly signal?: AbortSignal;
  }): Promise<Work<T> | undefined>;
  /**
   * Completes work. With `claimsNext` it may claim the next work in the same transaction and return it;
   * undefined if it did not.
   */
  complete(work: Work<T>, result: Result, claimsNext: boolean): Promise<ClaimedWork<T> | undefined>;
  /** Stops renewing the lease of work that could not be settled, so that it returns when its lease ends. */
  abandon(work: Work<T>): void;
  /** Returns the pause after this many failed calls in a row, in milliseconds. */
  pauseMs(failures: number): number;
}
