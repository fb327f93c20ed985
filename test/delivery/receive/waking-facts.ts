/** What the processes of the waking tests are to do, and what they say. */

export type WakingPart = "listen" | "exchange" | "forget" | "starve";

export type WakingFact =
  /** Listens from now on. */
  | { readonly kind: "ready" }
  | { readonly kind: "woken"; readonly agent: string }
  /** Was woken for everything that was to come. */
  | { readonly kind: "complete" };

/** Handoffs that each process of an exchange sends to each receiver. */
export const SENDS = 50;
