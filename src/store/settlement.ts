/** Computes what a settlement changes about a delivery, for every store. */
import type { DeliveryState } from "./rows.ts";
import type { Settlement } from "./store.ts";

/** Returns the state of the delivery after the settlement. */
export function stateAfter(settlement: Settlement): DeliveryState {
  if (settlement.kind === "asked") return "waiting";
  return "becomes" in settlement ? settlement.becomes : settlement.kind;
}

/** Returns whether the attempt does not count, so that one more is allowed. */
export function isUncountedAttempt(settlement: Settlement): boolean {
  return settlement.kind === "asked" || ("counts" in settlement && !settlement.counts);
}

/** Returns the milliseconds until a decision about the delivery is due; 0: only at its deadline. */
export const lapseAfter = (settlement: Settlement): number =>
  "lapseMs" in settlement ? settlement.lapseMs : 0;

/** Returns the milliseconds until the delivery is ready again; undefined if it does not wait for a time. */
export const delayAfter = (settlement: Settlement): number | undefined =>
  "delayMs" in settlement ? settlement.delayMs : undefined;
