/** The states of a delivery, and which of them are open or held. */

/** Transitions between them: delivery/settle/transitions.ts. */
export const DELIVERY_STATES = [
  "scheduled",
  "ready",
  "claimed",
  "accepted",
  "waiting",
  "completed",
  "declined",
  "dead",
  "cancelled",
  "expired",
  "superseded",
] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** States in which a delivery still has a future. The first five, so a range check finds them. */
export const OPEN_STATES = DELIVERY_STATES.slice(0, 5);
/** States in which an agent holds it under a lease. */
export const HELD_STATES = ["claimed", "accepted"] as const satisfies readonly DeliveryState[];

export const isOpen = (state: DeliveryState): boolean => OPEN_STATES.includes(state);
export const isHeld = (state: DeliveryState): boolean =>
  state === "claimed" || state === "accepted";

/** An agent has it: an extension by the sender reaches the holder, and replaces nothing. */
export const isTaken = (state: DeliveryState): boolean => isHeld(state) || state === "waiting";
