/** What the processes of the waking test say. */

export type WakingFact =
  | { readonly kind: "ready" }
  | { readonly kind: "woken"; readonly workspace: string; readonly agent: string }
  /** Was woken for everything that was to come. */
  | { readonly kind: "complete" };

/** Handoffs that each process of an exchange sends to each receiver. */
export const SENDS = 10;
