/** What each process of a crowd does, and the facts that it reports. */

export const APPENDS = 40;
export const HANDOFFS = 5;
/** Concurrent callers in each process. */
export const CALLERS = 5;

/** The name of the first process. */
export const FIRST = "agent-0";

/**
 * Returns the path of the file that is created when every process has reached its waiting point.
 */
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
