/**
 * Verifies trails: every record that changed a delivery contains a step for it. The steps determine which
 * deliveries must exist and which state they must be in.
 */
import { canonicalJson } from "../../base/digest.ts";
import { redactedReason } from "../redaction.ts";
import type { DeliveryRow, DeliveryStep, MemoryRow, PublishStep } from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";

/** Compares the deliveries with the trail of one record. */
export async function auditTrail(
  audit: Audit,
  row: MemoryRow,
  authored: RecordFields,
): Promise<void> {
  for (const step of authored.trail ?? []) {
    if (step.verb === "publish") await auditPublication(audit, row, step);
    else await auditStep(audit, { row, authored, step });
  }
}

async function auditPublication(audit: Audit, row: MemoryRow, step: PublishStep): Promise<void> {
  for (const [id, receiver] of step.deliveries) {
    const delivery = await findDelivery(audit, row, { delivery: id, verb: step.verb });
    audit.receivers.set(id, receiver);
    if (delivery) audit.equal(id, "sentAt", { is: delivery.sentAt, was: row.storedAt });
  }
}

async function findDelivery(
  audit: Audit,
  row: MemoryRow,
  { delivery, verb }: { readonly delivery: string; readonly verb: string },
): Promise<DeliveryRow | undefined> {
  const found = await audit.source.delivery(delivery);
  if (!found) audit.found(delivery, "delivery", `is missing, but ${row.id} has the step "${verb}"`);
  return found;
}

interface StepContext {
  readonly row: MemoryRow;
  readonly authored: RecordFields;
  readonly step: DeliveryStep;
}

async function auditStep(audit: Audit, taken: StepContext): Promise<void> {
  const { row, step } = taken;
  const delivery = await findDelivery(audit, row, step);
  if (delivery === undefined) return;
  if (step.to !== undefined) audit.receivers.set(delivery.id, step.to);
  switch (step.verb) {
    case "send":
      audit.equal(delivery.id, "sentAt", { is: delivery.sentAt, was: row.storedAt });
      if (step.instead !== undefined) await auditReplaced(audit, step.instead, row);
      return;
    case "extend":
    case "release":
    case "answer":
    case "redrive":
    case "reroute":
    case "reconstruct":
    case "open":
      return;
    case "accept":
      if (delivery.attempt > step.attempt) return; // A later attempt has overwritten it.
      audit.equal(delivery.id, "attempt", { is: delivery.attempt, was: step.attempt });
      audit.equal(delivery.id, "acceptedBy", { is: delivery.acceptedBy, was: row.id });
      if (delivery.state === "claimed") audit.found(delivery.id, "state", `${row.id} accepted it`);
      return;
    case "complete":
      audit.equal(delivery.id, "state", { is: delivery.state, was: "completed" });
      audit.equal(delivery.id, "settledBy", { is: delivery.settledBy, was: row.id });
      return;
    case "cancel":
    case "discard":
      audit.equal(delivery.id, "state", { is: delivery.state, was: "cancelled" });
      audit.equal(delivery.id, "settledBy", { is: delivery.settledBy, was: row.id });
      return;
    case "decline":
      audit.equal(delivery.id, "state", { is: delivery.state, was: "declined" });
      audit.equal(delivery.id, "settledBy", { is: delivery.settledBy, was: row.id });
      return auditAttempt(audit, taken, "declined");
    case "fail":
      return auditAttempt(audit, taken, "failed");
    case "ask":
      return auditAttempt(audit, taken, "asked");
    default:
      step.verb satisfies never;
      audit.found(row.id, "trail", `has the unknown step ${JSON.stringify(step.verb)}`);
  }
}

async function auditReplaced(audit: Audit, id: string, by: MemoryRow): Promise<void> {
  const replaced = await audit.source.delivery(id);
  audit.replaced.add(id);
  audit.equal(id, "state", { is: replaced?.state, was: "superseded" });
  audit.equal(id, "settledAt", { is: replaced?.settledAt, was: by.storedAt });
}

/** Compares the record of a failed, declined or asked attempt with its row; such attempts have both. */
async function auditAttempt(
  audit: Audit,
  { row, authored, step }: StepContext,
  outcome: "failed" | "declined" | "asked",
): Promise<void> {
  const attempts = await audit.source.attempts(step.delivery);
  const attempt = attempts.find((each) => each.attempt === step.attempt);
  const field = `attempt ${step.attempt}`;
  if (attempt === undefined) {
    audit.found(step.delivery, field, `is missing, but ${row.id} has the step "${step.verb}"`);
    return;
  }
  const reason =
    authored.redacted === undefined
      ? canonicalJson(reportedReason(authored), "store_corrupt")
      : redactedReason(authored.redacted.record);
  audit.equal(step.delivery, `${field} outcome`, { is: attempt.outcome, was: outcome });
  audit.equal(step.delivery, `${field} holder`, { is: attempt.holder, was: authored.agent });
  audit.equal(step.delivery, `${field} instance`, { is: attempt.instance, was: authored.instance });
  audit.equal(step.delivery, `${field} endedAt`, { is: attempt.endedAt, was: row.storedAt });
  audit.equal(step.delivery, `${field} reason`, { is: attempt.reason, was: reason });
}

/** Returns the reported reason of an attempt, without the decision that followed (only in the record). */
function reportedReason({ data }: RecordFields): unknown {
  const { decision: _, ...reported } = Object(data ?? null) as { readonly decision?: unknown };
  return data === undefined ? null : reported;
}
