/** The agents and limits of a chaos run, and the facts that each process reports. */

export const AGENTS = ["ann", "ben", "cyd", "dee", "eli"] as const;
export const ROLE = "crew";
export const CHANNEL = "news";

/** Short, so that many leases expire within a run of a few seconds. */
export const CHAOS_LIMITS = {
  leaseMs: 1_000,
  holdMs: 10_000,
  attempts: 4,
  breakerStrikes: 5,
  breakerMs: 300,
};

export type Ending = "completed" | "failed" | "declined" | "released" | "asked";

export type ChaosFact =
  | { readonly kind: "under-way" }
  | { readonly kind: "sent"; readonly deliveries: readonly string[] }
  | {
      readonly kind: "accepted" | "renewed";
      readonly delivery: string;
      readonly attempt: number;
      readonly leaseUntil: number;
    }
  | {
      readonly kind: "settled";
      readonly delivery: string;
      readonly attempt: number;
      readonly as: Ending;
    }
  /** A settlement that was refused because it came too late, with the error code. */
  | {
      readonly kind: "refused";
      readonly delivery: string;
      readonly attempt: number;
      readonly code: string;
    }
  /** A delivery that an agent other than its holder cancelled, redrove or answered. */
  | { readonly kind: "decided"; readonly delivery: string }
  | { readonly kind: "error"; readonly message: string };

export type FactOf<Kind extends ChaosFact["kind"]> = ChaosFact & { readonly kind: Kind };
