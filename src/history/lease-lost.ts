/** The error for a caller that no longer holds the work it acts on. */
import { isHeld, isOpen } from "../base/delivery-states.ts";
import { BatonError } from "../base/errors.ts";
import type { Delivery } from "./delivery.ts";

/** A delivery, as stored or as callers see it. */
type CurrentDelivery = Pick<Delivery, "state" | "attempt" | "holder">;

/**
 * Returns the error `lease_lost`, or `cancelled` if the work was cancelled. `now` is the current delivery.
 */
export function leaseLost(id: string, now: CurrentDelivery | undefined): BatonError {
  const cancelled = now?.state === "cancelled";
  return new BatonError(cancelled ? "cancelled" : "lease_lost", {
    message: messageFor(id, now),
    path: "lease",
    hint: "Stop working on it (your notes are kept) and read your inbox for the next delivery.",
    details:
      now === undefined
        ? {}
        : { state: now.state, attempt: now.attempt, ...(now.holder && { holder: now.holder }) },
  });
}

function messageFor(id: string, now: CurrentDelivery | undefined): string {
  if (now === undefined) return `Delivery ${id} does not exist in this workspace.`;
  if (now.state === "cancelled") return `The work on ${id} was cancelled.`;
  return `You no longer hold ${id}: ${why(now)}.`;
}

function why(now: CurrentDelivery): string {
  if (!isOpen(now.state)) return `it is ${now.state}`;
  if (isHeld(now.state))
    return `${now.holder} holds it (attempt ${now.attempt}), or its lease expired`;
  return "its lease expired and it is back in the inbox";
}
