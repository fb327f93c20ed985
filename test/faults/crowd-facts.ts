/** What the crowd is to do, and what each of it says. */

export const APPENDS = 40;
export const HANDOFFS = 5;
/** Callers in each process. */
export const CALLERS = 5;

export type CrowdPart = "open" | "append" | "race";

export type CrowdFact =
  | { readonly kind: "ready" }
  | { readonly kind: "remembered"; readonly id: string; readonly seq: number }
  | { readonly kind: "sent"; readonly delivery: string; readonly envelope: string }
  | {
      readonly kind: "accepted" | "completed";
      readonly delivery: string;
      readonly attempt: number;
    }
  | { readonly kind: "error"; readonly message: string };

export type CrowdFactOf<Kind extends CrowdFact["kind"]> = CrowdFact & { readonly kind: Kind };
