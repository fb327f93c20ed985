/** What a settlement makes of a delivery, the same in every store. */
import type { DeliveryState } from "./rows.ts";
import type { Settlement } from "./store.ts";

export function stateAfter(settlement: Settlement): DeliveryState {
  if (settlement.kind === "asked") return "waiting";
  return "becomes" in settlement ? settlement.becomes : settlement.kind;
}

/** The try does not count: one more is allowed. */
export function isUncountedAttempt(settlement: Settlement): boolean {
  return settlement.kind === "asked" || ("counts" in settlement && !settlement.counts);
}

/** Milliseconds until somebody has to decide about it; 0: only at its deadline. */
export const lapseAfter = (settlement: Settlement): number =>
  "lapseMs" in settlement ? settlement.lapseMs : 0;

/** Milliseconds until it is ready again; undefined when it does not wait for a time. */
export const delayAfter = (settlement: Settlement): number | undefined =>
  "delayMs" in settlement ? settlement.delayMs : undefined;
