/** The facts that a child reports: each is an acknowledgement that the store must honour. */

export interface PlacedMemory {
  readonly id: string;
  readonly seq: number;
  readonly digest: string;
  readonly link: string;
}

export interface SentFact {
  readonly delivery: string;
  readonly envelope: string;
  readonly digest: string;
  readonly memory: string;
}

export type Fact =
  /**
   * The hub is open and its agents are registered: from now on the child may be killed at any time.
   */
  | { readonly kind: "under-way" }
  | ({ readonly kind: "remembered" } & PlacedMemory)
  | ({ readonly kind: "noted" } & PlacedMemory)
  | ({ readonly kind: "sent" } & SentFact)
  | {
      readonly kind: "accepted";
      readonly delivery: string;
      readonly attempt: number;
      readonly memory: string;
    }
  | {
      readonly kind: "completed";
      readonly delivery: string;
      readonly attempt: number;
      readonly envelope: string;
      readonly memory: string;
    }
  | {
      readonly kind: "handed-on";
      readonly delivery: string;
      readonly attempt: number;
      readonly next: SentFact;
    }
  | {
      readonly kind: "failed" | "declined";
      readonly delivery: string;
      readonly attempt: number;
      readonly memory: string;
    }
  | { readonly kind: "released"; readonly delivery: string; readonly attempt: number }
  /** The lease had expired: allowed on a slow machine. */
  | { readonly kind: "lost"; readonly delivery: string; readonly attempt: number }
  /** Any other error: never allowed. */
  | { readonly kind: "error"; readonly message: string };

export type FactOf<Kind extends Fact["kind"]> = Fact & { readonly kind: Kind };

/**
 * Short leases, so that a run does not wait long for dead holders, and enough attempts for many
 * kills.
 */
export const KILL_LIMITS = { leaseMs: 1_000, attempts: 40 } as const;

/** Each agent sends to a random one of these. */
export const AGENTS = ["ann", "ben", "cleo"] as const;
