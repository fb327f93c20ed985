/**
 * Helpers shared by local work and work over HTTP: renewal interval, lost-lease checks, listeners, warnings.
 */
import { BatonError, type ErrorCode, isBatonError } from "../base/errors.ts";

/** Renewals per lease time: two can fail before the lease ends. */
export const RENEWALS_PER_LEASE = 3;

/**
 * Calls each listener in a microtask, so that an exception in a listener does not fail the note or heartbeat
 * that triggered it.
 */
export function notifyListeners<Value>(
  listeners: ReadonlySet<(value: Value) => void>,
  value: Value,
): void {
  for (const listener of listeners) queueMicrotask(() => listener(value));
}

/** Emits a process warning: a block ended without settling its work, which counts as a failed attempt. */
export function warnUnsettled(delivery: string): void {
  globalThis.process?.emitWarning?.(
    `Work on ${delivery} was not settled; it returns to the inbox and counts as an attempt. ` +
      "End the block with complete(), fail(), decline(), clarify(), release() or handoff().",
    { type: "BatonWarning", code: "BATON_UNSETTLED" },
  );
}

/** The longest delay of a timer, in milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Error codes that mean that the caller no longer holds the work. */
const LEASE_LOST_CODES: readonly ErrorCode[] = ["lease_lost", "cancelled"];
/** Returns true if an error means that the caller no longer holds the work. */
export const isLeaseLost = (error: unknown): error is BatonError =>
  isBatonError(error) && LEASE_LOST_CODES.includes(error.code);

/** Returns the error for using work that was abandoned because it could not be settled. */
export const workAbandoned = (id: string): BatonError =>
  new BatonError("lease_lost", {
    message: `The worker abandoned ${id}, because it could not be settled.`,
    path: "lease",
    hint: "Stop working on it: it returns to the inbox when its lease ends. Your notes are kept.",
  });

/** Returns the error for settling work a second time, or while a settlement is in progress. */
export const alreadySettled = (id: string): BatonError =>
  new BatonError("already_settled", {
    message: `Work on ${id} was already settled, or is being settled.`,
    path: "work",
    hint: "Settle work once: complete(), fail(), decline(), clarify(), release() or handoff().",
  });
