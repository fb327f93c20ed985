/** The facts that the processes of the waking test report. */

export type WakingFact =
  | { readonly kind: "ready" }
  | { readonly kind: "woken"; readonly workspace: string; readonly agent: string }
  /** The process was woken, and everything it expected has arrived. */
  | { readonly kind: "complete" };

/** Number of handoffs that each process of an exchange sends to each receiver. */
export const SENDS = 10;
