/**
 * Checks and renews leases. A lease is valid while the delivery is held, the fence is the holder's, and its
 * time has not run out. A holder that is later is refused, whatever work it has done.
 */

import { type AttemptRow, type DeliveryRow, isHeld } from "../../rows.ts";
import type { Lease, LeaseLost, LeaseRefusal, RenewOutcome, Session } from "../../store.ts";
import { attemptSum } from "../row-sums.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { findDelivery } from "./deliveries.ts";
import { readEnvelope } from "./envelopes.ts";

/** The result of a successful check. */
interface HeldDelivery {
  readonly kind: "held";
  readonly delivery: DeliveryRow;
}

/** Returns the delivery if the lease is valid. */
export function checkLease(
  tx: Transaction,
  workspace: number,
  lease: Lease,
): HeldDelivery | LeaseLost {
  const delivery = findDelivery(tx.sql, workspace, lease.delivery);
  return delivery !== undefined && isLeaseValid(delivery, lease.fence, tx.now)
    ? { kind: "held", delivery }
    : { kind: "lease_lost", delivery };
}

/** Returns the delivery if the lease is valid and the holder knows the newest envelope. */
export function checkNewestLease(
  tx: Transaction,
  workspace: number,
  lease: Lease,
): HeldDelivery | LeaseRefusal {
  const held = checkLease(tx, workspace, lease);
  if (held.kind !== "held" || held.delivery.envelope === lease.envelope) return held;
  return { kind: "extended", envelope: readEnvelope(tx.sql, workspace, held.delivery) };
}

function isLeaseValid(delivery: DeliveryRow, fence: number, now: number): boolean {
  return isHeld(delivery.state) && delivery.fence === fence && delivery.leaseUntil > now;
}

/** Returns when a lease ends that is renewed now: at most the end of the longest hold. */
export function renewedUntil(tx: Transaction, delivery: DeliveryRow, leaseMs: number): number {
  return Math.min(tx.now + leaseMs, delivery.holdUntil);
}

/** Renews a valid lease to its full time. */
export function renew(
  tx: Transaction,
  workspace: number,
  delivery: DeliveryRow,
  leaseMs: number,
): DeliveryRow {
  const leaseUntil = renewedUntil(tx, delivery, leaseMs);
  tx.sql.renew.run(leaseUntil, workspace, delivery.id, delivery.fence);
  return { ...delivery, leaseUntil };
}

/** Checks and renews one lease. */
export function renewLease(tx: Transaction, name: string, lease: Lease): RenewOutcome {
  const workspace = tx.workspace(name);
  const held = checkLease(tx, workspace, lease);
  if (held.kind !== "held") return held;
  return { kind: "renewed", delivery: renew(tx, workspace, held.delivery, lease.leaseMs) };
}

/** Renews every current lease of a session that is not bound to a process. */
export function renewSession(tx: Transaction, session: Session, leaseMs: number): void {
  const workspace = tx.workspace(session.workspace);
  const { agent, instance } = session;
  tx.sql.renewSession.run(tx.now + leaseMs, workspace, tx.now, agent, instance);
}

/** Records how an attempt ended; without a holder if the delivery was not held. */
export function endAttempt(
  tx: Transaction,
  workspace: number,
  delivery: DeliveryRow,
  end: Pick<AttemptRow, "outcome" | "reason"> & { readonly at?: number | undefined },
): void {
  const held = isHeld(delivery.state);
  addAttempt(tx.sql, workspace, {
    delivery: delivery.id,
    attempt: delivery.attempt,
    endedAt: end.at ?? tx.now,
    outcome: end.outcome,
    holder: held ? delivery.holder : "",
    instance: held ? delivery.instance : "",
    reason: end.reason,
  });
}

/** Adds the row of an ended attempt. */
export function addAttempt(sql: Statements, workspace: number, row: AttemptRow): void {
  const { delivery, attempt, endedAt, outcome, holder, instance, reason } = row;
  const ended = [delivery, attempt, endedAt, outcome, holder, instance, reason];
  sql.addAttempt.run(workspace, ...ended, attemptSum(workspace, row));
}
