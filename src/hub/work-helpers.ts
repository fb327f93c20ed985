/** What local and remote work have in common: renewals, losses, listeners and warnings. */
import { BatonError, type ErrorCode, isBatonError } from "../base/errors.ts";

/** Renewals per lease: two may fail before the third is late. */
export const RENEWALS_PER_LEASE = 3;

/** Later, so that what a listener throws is its own and not a note's or a heartbeat's. */
export function notifyListeners<Value>(
  listeners: ReadonlySet<(value: Value) => void>,
  value: Value,
): void {
  for (const listener of listeners) queueMicrotask(() => listener(value));
}

/** Says that a block ended without settling its work: what follows is a counted attempt. */
export function warnUnsettled(delivery: string): void {
  globalThis.process?.emitWarning?.(
    `Work on ${delivery} was left without settling it and goes back to the inbox as a counted attempt. ` +
      "End the block with complete(), fail(), decline(), clarify(), release() or handoff().",
    { type: "BatonWarning", code: "BATON_UNSETTLED" },
  );
}

/** What a timer can count to; longer ones would go off at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Errors that say that the work is not this holder's any more. */
const LEASE_LOST_CODES: readonly ErrorCode[] = ["lease_lost", "cancelled"];
export const isLeaseLost = (error: unknown): error is BatonError =>
  isBatonError(error) && LEASE_LOST_CODES.includes(error.code);

export const alreadySettled = (id: string): BatonError =>
  new BatonError("already_settled", {
    message: `The work of ${id} was settled before, or is being settled.`,
    path: "work",
    hint: "A piece of work is completed, failed, declined, released or handed on once.",
  });
