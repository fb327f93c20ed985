/** What can be decided about a failure, and what whoever decides is told. */
import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { RedriveChanges } from "../../delivery/settle/dead-letters.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { Address } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Delivery } from "../../history/delivery.ts";
import { DECISION_KINDS, type StoredFailureDecision } from "../../history/failure-decisions.ts";

export const DecisionSchema = z
  .strictObject({
    /** Of what is tried again: said anew, as when a dead letter is redriven. */
    changes: z
      .custom<Omit<RedriveChanges, "to">>(
        isRedriveChanges,
        "must say what changes; who gets it is `to`",
      )
      .optional(),
    decision: z.enum(DECISION_KINDS),
    /** Of what is tried again: not before so many milliseconds from now. */
    delayMs: z.int().min(0).max(FORMAT_LIMITS.durationMs).optional(),
    reason: Reason,
    /** Who has it from now on; of a question, who is asked. */
    to: Address.optional(),
  })
  .refine(({ decision, to }) => decision !== "reroute" || to !== undefined, {
    error: "must say who gets it",
    path: ["to"],
  })
  .refine(({ decision, to }) => to === undefined || DECISIONS_WITH_RECEIVER.includes(decision), {
    error: "goes with reroute and ask only",
    path: ["to"],
  })
  .refine(
    ({ decision, changes }) => changes === undefined || REDRIVING_DECISIONS.includes(decision),
    {
      error: "goes with retry and reroute only",
      path: ["changes"],
    },
  )
  .refine(
    ({ decision, delayMs }) => delayMs === undefined || REDRIVING_DECISIONS.includes(decision),
    {
      error: "goes with retry and reroute only",
      path: ["delayMs"],
    },
  );

/** Who gets it is said beside it. */
function isRedriveChanges(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !Object.hasOwn(value, "to")
  );
}

const DECISIONS_WITH_RECEIVER: readonly string[] = ["reroute", "ask"];
const REDRIVING_DECISIONS: readonly string[] = ["retry", "reroute"];

export type Decision = z.input<typeof DecisionSchema>;
export type CheckedDecision = z.output<typeof DecisionSchema>;

export const checkDecision = (decision: unknown): CheckedDecision =>
  parseOrThrow(DecisionSchema, decision, { code: "invalid_input", what: "The decision" });

export type DecideResult =
  | (StoredFailureDecision & {
      readonly kind: "decided";
      /** What was given up, as it is now. */
      readonly delivery: Delivery;
    })
  /** Somebody else has decided: that stands. */
  | (StoredFailureDecision & { readonly kind: "already" })
  /** Somebody else decides, and was told. */
  | { readonly kind: "asked"; readonly who: string; readonly report: string }
  /** There is nothing to decide: it was settled, taken back or tried again meanwhile. */
  | { readonly kind: "settled"; readonly delivery: Delivery };
