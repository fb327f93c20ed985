/**
 * The trail: each record that did something to a delivery names it, so the chain knows which
 * deliveries there must be and what became of them.
 */
import { canonicalJson } from "../../canonical.ts";
import { assertNever } from "../../errors.ts";
import type { DeliveryRow, MemoryRow, TrailStep } from "../rows.ts";
import type { Audit, Authored } from "./audit.ts";

export async function auditTrail(audit: Audit, row: MemoryRow, authored: Authored): Promise<void> {
  for (const step of authored.trail ?? []) {
    const delivery = await audit.source.delivery(step.delivery);
    if (delivery === undefined) {
      audit.found(step.delivery, "delivery", `is missing; ${row.id} says: ${step.verb}`);
      continue;
    }
    await auditStep(audit, { row, authored, step, delivery });
  }
}

interface Taken {
  readonly row: MemoryRow;
  readonly authored: Authored;
  readonly step: TrailStep;
  readonly delivery: DeliveryRow;
}

async function auditStep(audit: Audit, taken: Taken): Promise<void> {
  const { row, step, delivery } = taken;
  switch (step.verb) {
    case "send":
      audit.equal(delivery.id, "sentAt", { is: delivery.sentAt, was: row.storedAt });
      if (step.instead !== undefined) await auditReplaced(audit, step.instead, row);
      return;
    case "extend":
    case "release":
      return;
    case "accept":
      if (delivery.attempt > step.attempt) return; // A later try has written over it.
      audit.equal(delivery.id, "attempt", { is: delivery.attempt, was: step.attempt });
      audit.equal(delivery.id, "acceptedBy", { is: delivery.acceptedBy, was: row.id });
      if (delivery.state === "claimed") audit.found(delivery.id, "state", `${row.id} accepted it`);
      return;
    case "complete":
      audit.equal(delivery.id, "state", { is: delivery.state, was: "completed" });
      audit.equal(delivery.id, "settledBy", { is: delivery.settledBy, was: row.id });
      return;
    case "decline":
      audit.equal(delivery.id, "state", { is: delivery.state, was: "declined" });
      audit.equal(delivery.id, "settledBy", { is: delivery.settledBy, was: row.id });
      return auditAttempt(audit, taken, "declined");
    case "fail":
      return auditAttempt(audit, taken, "failed");
    default:
      return assertNever(step.verb);
  }
}

async function auditReplaced(audit: Audit, id: string, by: MemoryRow): Promise<void> {
  const replaced = await audit.source.delivery(id);
  audit.replaced.add(id);
  audit.equal(id, "state", { is: replaced?.state, was: "superseded" });
  audit.equal(id, "settledAt", { is: replaced?.settledAt, was: by.storedAt });
}

/** A try that failed or was declined is kept twice: as a record, and among the attempts. */
async function auditAttempt(
  audit: Audit,
  { row, authored, step }: Taken,
  outcome: "failed" | "declined",
): Promise<void> {
  const attempts = await audit.source.attempts(step.delivery);
  const attempt = attempts.find((each) => each.attempt === step.attempt);
  const field = `attempt ${step.attempt}`;
  if (attempt === undefined) {
    audit.found(step.delivery, field, `is missing; ${row.id} says: ${step.verb}`);
    return;
  }
  const reason = canonicalJson(authored.data ?? null, "store_corrupt");
  audit.equal(step.delivery, `${field} outcome`, { is: attempt.outcome, was: outcome });
  audit.equal(step.delivery, `${field} holder`, { is: attempt.holder, was: authored.agent });
  audit.equal(step.delivery, `${field} instance`, { is: attempt.instance, was: authored.instance });
  audit.equal(step.delivery, `${field} endedAt`, { is: attempt.endedAt, was: row.storedAt });
  audit.equal(step.delivery, `${field} reason`, { is: attempt.reason, was: reason });
}
