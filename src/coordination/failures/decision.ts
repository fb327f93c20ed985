/** The input and result of deciding about a failure. */
import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { RedriveChanges } from "../../delivery/settle/dead-letters.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { Address } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Delivery } from "../../history/delivery.ts";
import { DECISION_KINDS, type StoredFailureDecision } from "../../history/failure-decisions.ts";

/** A decision about a failure: retry, reroute, ask or abort, with a reason. */
export const DecisionSchema = z
  .strictObject({
    /** With retry and reroute: changes of the envelope, as when a dead letter is redriven. */
    changes: z
      .custom<Omit<RedriveChanges, "to">>(
        isRedriveChanges,
        "must be an object of changes without `to`; pass the receiver as `to` of the decision",
      )
      .optional(),
    decision: z.enum(DECISION_KINDS),
    /** With retry and reroute: milliseconds to wait before the delivery is ready. */
    delayMs: z.int().min(0).max(FORMAT_LIMITS.durationMs).optional(),
    reason: Reason,
    /** With reroute: the new receiver. With ask: the agent to ask; default: the first active person. */
    to: Address.optional(),
  })
  .refine(({ decision, to }) => decision !== "reroute" || to !== undefined, {
    error: "must say who gets it",
    path: ["to"],
  })
  .refine(({ decision, to }) => to === undefined || DECISIONS_WITH_RECEIVER.includes(decision), {
    error: "is allowed only with reroute and ask",
    path: ["to"],
  })
  .refine(
    ({ decision, changes }) => changes === undefined || REDRIVING_DECISIONS.includes(decision),
    {
      error: "is allowed only with retry and reroute",
      path: ["changes"],
    },
  )
  .refine(
    ({ decision, delayMs }) => delayMs === undefined || REDRIVING_DECISIONS.includes(decision),
    {
      error: "is allowed only with retry and reroute",
      path: ["delayMs"],
    },
  );

/** Returns true for an object without `to`, which belongs to the decision itself. */
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

/** Returns a checked decision. Throws `invalid_input`. */
export const checkDecision = (decision: unknown): CheckedDecision =>
  parseOrThrow(DecisionSchema, decision, { code: "invalid_input", what: "The decision" });

/** The result of deciding, by `kind`. */
export type DecideResult =
  | (StoredFailureDecision & {
      readonly kind: "decided";
      /** The delivery that was given up, as it is now. */
      readonly delivery: Delivery;
    })
  /** Another decision was made before; it stands. */
  | (StoredFailureDecision & { readonly kind: "already" })
  /** The decision was passed on to another agent, which was notified. */
  | { readonly kind: "asked"; readonly who: string; readonly report: string }
  /** There was nothing to decide: the delivery was settled, cancelled or retried meanwhile. */
  | { readonly kind: "settled"; readonly delivery: Delivery };
