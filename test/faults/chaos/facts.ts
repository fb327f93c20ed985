/** Who takes part in the chaos, under which limits, and what each process says. */

export const AGENTS = ["ann", "ben", "cyd", "dee", "eli"] as const;
export const ROLE = "crew";
export const CHANNEL = "news";

/** Short, so that a run of seconds sees many leases run out. */
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
  /** A settlement that came too late: refused, with the reason. */
  | {
      readonly kind: "refused";
      readonly delivery: string;
      readonly attempt: number;
      readonly code: string;
    }
  /** Taken back, tried again or answered: by somebody who did not hold it. */
  | { readonly kind: "decided"; readonly delivery: string }
  | { readonly kind: "error"; readonly message: string };

export type FactOf<Kind extends ChaosFact["kind"]> = ChaosFact & { readonly kind: Kind };
