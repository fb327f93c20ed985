/**
 * Receipts: an envelope can require that its receiver repeats goal, first step and must-constraints when it
 * accepts. The ids of the must-constraints are compared exactly; goal and first step only have to be present.
 */
import * as z from "zod";
import { BatonError, type Violation } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);

/** What a receiver repeats when it accepts. */
export const ReceiptSchema = z.strictObject({
  /** The id of every must-constraint. */
  constraints: z.array(z.string()).max(FORMAT_LIMITS.listItems).default([]),
  firstStep: Line,
  goal: Line,
});

/** A receipt as the receiver passes it. */
export type Receipt = z.input<typeof ReceiptSchema>;
/** A validated receipt, with defaults. */
export type CheckedReceipt = z.output<typeof ReceiptSchema>;

/** A receipt, or a function that makes it from the envelope once that is known. */
export type ReceiptSource = Receipt | ((envelope: Envelope) => Receipt | undefined);

/**
 * Returns the receipt that an envelope is accepted with; undefined if none is required or given. Throws
 * `receipt_required` with every missing or unknown constraint.
 */
export function receiptFor(
  envelope: Envelope,
  source: ReceiptSource | undefined,
): CheckedReceipt | undefined {
  const given = typeof source === "function" ? source(envelope) : source;
  if (given === undefined) {
    if (envelope.receipt) throw refused(envelope, [required()]);
    return undefined;
  }
  const receipt = parseOrThrow(ReceiptSchema, given, {
    code: "invalid_input",
    what: "The receipt",
    prefix: "receipt",
  });
  const violations = envelope.receipt ? missingIn(receipt, envelope) : [];
  if (violations.length > 0) throw refused(envelope, violations);
  return receipt;
}

const musts = ({ constraints }: Envelope): Envelope["constraints"] =>
  constraints.filter(({ level }) => level === "must");

function missingIn(receipt: CheckedReceipt, envelope: Envelope): Violation[] {
  const repeated = new Set(receipt.constraints);
  const wanted = musts(envelope);
  const forgotten = wanted
    .filter(({ id }) => !repeated.has(id))
    .map(({ id, rule }) => ({
      path: "receipt.constraints",
      rule: "required",
      message: `receipt.constraints: "${id}" is missing (${rule}).`,
      hint: "Repeat the id of every must-constraint.",
    }));
  const known = new Set(wanted.map(({ id }) => id));
  const invented = receipt.constraints
    .filter((id) => !known.has(id))
    .map((id) => ({
      path: "receipt.constraints",
      rule: "unknown",
      message: `receipt.constraints: "${id}" is not a must-constraint of this handoff.`,
      hint: "Repeat the ids exactly as the envelope lists them.",
    }));
  return [...forgotten, ...invented];
}

const required = (): Violation => ({
  path: "receipt",
  rule: "required",
  message: "receipt: is required.",
  hint: "Accept with receipt: { goal, firstStep, constraints: [ids of the must-constraints] }.",
});

function refused(envelope: Envelope, violations: readonly Violation[]): BatonError {
  return new BatonError("receipt_required", {
    message: `The handoff of "${envelope.task}" requires a receipt: ${violations.map(({ message }) => message).join(" ")}`,
    hint: violations[0]?.hint ?? "",
    violations,
    details: {
      goal: envelope.intent,
      firstStep: envelope.next[0] ?? "",
      constraints: musts(envelope).map(({ id }) => id),
    },
  });
}
