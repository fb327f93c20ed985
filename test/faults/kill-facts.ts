/** What a child says it was told by the hub: every line is an acknowledgement to hold Baton to. */

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
  /** Open and registered: from now on it may be killed at any moment. */
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
  /** Told that its lease had run out: allowed, when the machine is slow. */
  | { readonly kind: "lost"; readonly delivery: string; readonly attempt: number }
  /** Anything else that was thrown: never allowed. */
  | { readonly kind: "error"; readonly message: string };

export type FactOf<Kind extends Fact["kind"]> = Fact & { readonly kind: Kind };

/** Short leases, so that a run need not wait long for the dead; tries enough for many kills. */
export const KILL_LIMITS = { leaseMs: 1_000, attempts: 40 } as const;

/** Everybody hands over to everybody. */
export const AGENTS = ["ann", "ben", "cleo"] as const;
