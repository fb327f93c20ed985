/** What can be decided about a failure, and what whoever decides is told. */
import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { RedriveChanges } from "../../delivery/settle/dead-letters.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { Address } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import type { Delivery } from "../../history/delivery.ts";
import { DECISIONS, type KeptDecision } from "../../history/failure-decisions.ts";

export const DecisionSchema = z
  .strictObject({
    /** Of what is tried again: said anew, as when a dead letter is redriven. */
    changes: z
      .custom<Omit<RedriveChanges, "to">>(isSaidAnew, "must say what changes; who gets it is `to`")
      .optional(),
    decision: z.enum(DECISIONS),
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
  .refine(({ decision, to }) => to === undefined || TO.includes(decision), {
    error: "goes with reroute and ask only",
    path: ["to"],
  })
  .refine(({ decision, changes }) => changes === undefined || AGAIN.includes(decision), {
    error: "goes with retry and reroute only",
    path: ["changes"],
  })
  .refine(({ decision, delayMs }) => delayMs === undefined || AGAIN.includes(decision), {
    error: "goes with retry and reroute only",
    path: ["delayMs"],
  });

/** Who gets it is said beside it. */
function isSaidAnew(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !Object.hasOwn(value, "to")
  );
}

const TO: readonly string[] = ["reroute", "ask"];
const AGAIN: readonly string[] = ["retry", "reroute"];

export type Decision = z.input<typeof DecisionSchema>;
export type CheckedDecision = z.output<typeof DecisionSchema>;

export const checkDecision = (decision: unknown): CheckedDecision =>
  parseOr(DecisionSchema, decision, { code: "invalid_input", what: "The decision" });

export type DecisionAnswer =
  | (KeptDecision & {
      readonly kind: "decided";
      /** What was given up, as it is now. */
      readonly delivery: Delivery;
    })
  /** Somebody else has decided: that stands. */
  | (KeptDecision & { readonly kind: "already" })
  /** Somebody else decides, and was told. */
  | { readonly kind: "asked"; readonly who: string; readonly report: string }
  /** There is nothing to decide: it was settled, taken back or tried again meanwhile. */
  | { readonly kind: "settled"; readonly delivery: Delivery };
