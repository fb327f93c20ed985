/** The states of a delivery, and which of them are open or held. */

/** All states of a delivery. delivery/settle/transitions.ts defines the transitions between them. */
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

/**
 * States in which a delivery is not finished. They are the first five, so that a range check selects them.
 */
export const OPEN_STATES = DELIVERY_STATES.slice(0, 5);
/** States in which an agent holds the delivery under a lease. */
export const HELD_STATES = ["claimed", "accepted"] as const satisfies readonly DeliveryState[];

/** Returns true until the delivery has reached a final state. */
export const isOpen = (state: DeliveryState): boolean => OPEN_STATES.includes(state);
/** Returns true while an agent holds the delivery under a lease. */
export const isHeld = (state: DeliveryState): boolean =>
  state === "claimed" || state === "accepted";

/**
 * Returns true if an agent holds the delivery or waits for an answer about it. An extension by the sender
 * then reaches the holder and does not replace the envelope.
 */
export const isTaken = (state: DeliveryState): boolean => isHeld(state) || state === "waiting";
