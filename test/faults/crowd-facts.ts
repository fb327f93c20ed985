/** What the crowd is to do, and what each of it says. */

export const APPENDS = 40;
export const HANDOFFS = 5;
/** Callers in each process. */
export const CALLERS = 5;

/** The name of the first process. */
export const FIRST = "agent-0";

/** The file that says that all have come as far as they can without the others. */
export const laterStart = (start: string): string => `${start}-later`;

export type CrowdPart = "open" | "append" | "open-append" | "race";

export type CrowdFact =
  | { readonly kind: "ready" | "opened" }
  | { readonly kind: "remembered"; readonly id: string; readonly seq: number }
  | { readonly kind: "sent"; readonly delivery: string; readonly envelope: string }
  | {
      readonly kind: "accepted" | "completed";
      readonly delivery: string;
      readonly attempt: number;
    }
  | { readonly kind: "error"; readonly message: string };

export type CrowdFactOf<Kind extends CrowdFact["kind"]> = CrowdFact & { readonly kind: Kind };
