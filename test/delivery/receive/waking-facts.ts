/** The parts that the child processes of the wake-up tests play, and the messages they print. */

export type WakingPart = "listen" | "exchange" | "forget" | "starve";

export type WakingFact =
  /** The process is listening. */
  | { readonly kind: "ready" }
  | { readonly kind: "woken"; readonly agent: string }
  /** The process was woken, and all expected handoffs have arrived. */
  | { readonly kind: "complete" };

/** Handoffs that each process of an exchange sends to each receiver. */
export const SENDS = 50;
