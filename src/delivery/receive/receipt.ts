/**
 * Receipts: an envelope may require that whoever accepts it says back what it is about. The ids of the
 * must-constraints are compared exactly; goal and first step must be there.
 */
import * as z from "zod";
import { BatonError, type Violation } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);

export const ReceiptSchema = z.strictObject({
  /** The id of every must-constraint. */
  constraints: z.array(z.string()).max(FORMAT_LIMITS.listItems).default([]),
  firstStep: Line,
  goal: Line,
});

export type Receipt = z.input<typeof ReceiptSchema>;
export type CheckedReceipt = z.output<typeof ReceiptSchema>;

/** The receipt, made when the envelope is known; or the same for whatever comes. */
export type ReceiptSource = Receipt | ((envelope: Envelope) => Receipt | undefined);

/** The receipt this envelope is accepted with; undefined when it needs none and got none. */
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
      message: `receipt.constraints: there is no must-constraint "${id}".`,
      hint: "Repeat the ids as they stand in the envelope.",
    }));
  return [...forgotten, ...invented];
}

const required = (): Violation => ({
  path: "receipt",
  rule: "required",
  message: "receipt: is missing.",
  hint: "Accept with receipt: { goal, firstStep, constraints: [ids of the musts] }.",
});

function refused(envelope: Envelope, violations: readonly Violation[]): BatonError {
  return new BatonError("receipt_required", {
    message: `The handoff of "${envelope.task}" needs a receipt: ${violations.map(({ message }) => message).join(" ")}`,
    hint: violations[0]?.hint ?? "",
    violations,
    details: {
      goal: envelope.intent,
      firstStep: envelope.next[0] ?? "",
      constraints: musts(envelope).map(({ id }) => id),
    },
  });
}
