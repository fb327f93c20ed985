/** What a caller is told that no longer holds the work it wants to act on. */
import { isHeld, isOpen } from "../base/delivery-states.ts";
import { BatonError } from "../base/errors.ts";
import type { Delivery } from "./delivery.ts";

/** A delivery, as stored or as callers see it. */
type CurrentDelivery = Pick<Delivery, "state" | "attempt" | "holder">;

export function leaseLost(id: string, now: CurrentDelivery | undefined): BatonError {
  const cancelled = now?.state === "cancelled";
  return new BatonError(cancelled ? "cancelled" : "lease_lost", {
    message: cancelled
      ? `The work of ${id} was cancelled.`
      : `The work of ${id} is no longer yours: ${why(now)}.`,
    path: "lease",
    hint: "Stop working on it; notes you made are kept. Look at your inbox for what is next.",
    details:
      now === undefined
        ? {}
        : { state: now.state, attempt: now.attempt, ...(now.holder && { holder: now.holder }) },
  });
}

function why(now: CurrentDelivery | undefined): string {
  if (now === undefined) return "there is no such delivery";
  if (!isOpen(now.state)) return `it is ${now.state}`;
  if (isHeld(now.state))
    return `attempt ${now.attempt} holds it (${now.holder}), or its lease ran out`;
  return "its lease ran out and it waits in the inbox again";
}
