/**
 * Who holds a delivery. A lease is good while the delivery is held, the fence is the holder's, and
 * its time has not run out; whoever comes later than that is refused, whatever it has done.
 */

import { type AttemptRow, type DeliveryRow, isHeld } from "../../rows.ts";
import type { Lease, LeaseLost, LeaseRefusal, RenewOutcome, Session } from "../../store.ts";
import type { Transaction } from "../transaction.ts";
import { findDelivery } from "./deliveries.ts";
import { readEnvelope } from "./envelopes.ts";

interface HeldDelivery {
  readonly kind: "held";
  readonly delivery: DeliveryRow;
}

/** The delivery, when the lease is good. */
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

/** The delivery, when the lease is good and the holder knows the newest envelope. */
export function checkNewestLease(
  tx: Transaction,
  workspace: number,
  lease: Lease,
): HeldDelivery | LeaseRefusal {
  const held = checkLease(tx, workspace, lease);
  if (held.kind !== "held" || held.delivery.envelope === lease.envelope) return held;
  return { kind: "extended", envelope: readEnvelope(tx.sql, workspace, held.delivery.envelope) };
}

function isLeaseValid(delivery: DeliveryRow, fence: number, now: number): boolean {
  return isHeld(delivery.state) && delivery.fence === fence && delivery.leaseUntil > now;
}

/** Until when a lease is good that is given its full time now: not beyond the longest hold. */
export function renewedUntil(tx: Transaction, delivery: DeliveryRow, leaseMs: number): number {
  return Math.min(tx.now + leaseMs, delivery.holdUntil);
}

/** Gives a good lease its full time again. */
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

export function renewLease(tx: Transaction, name: string, lease: Lease): RenewOutcome {
  const workspace = tx.workspace(name);
  const held = checkLease(tx, workspace, lease);
  if (held.kind !== "held") return held;
  return { kind: "renewed", delivery: renew(tx, workspace, held.delivery, lease.leaseMs) };
}

export function renewSession(tx: Transaction, session: Session, leaseMs: number): void {
  const workspace = tx.workspace(session.workspace);
  const { agent, instance } = session;
  tx.sql.renewSession.run(tx.now + leaseMs, workspace, tx.now, agent, instance);
}

/** How a try ended. Of what nobody held, it is a try without a holder. */
export function endAttempt(
  tx: Transaction,
  workspace: number,
  delivery: DeliveryRow,
  end: Pick<AttemptRow, "outcome" | "reason"> & { readonly at?: number | undefined },
): void {
  const held = isHeld(delivery.state);
  tx.sql.addAttempt.run(
    workspace,
    delivery.id,
    delivery.attempt,
    end.at ?? tx.now,
    end.outcome,
    held ? delivery.holder : "",
    held ? delivery.instance : "",
    end.reason,
  );
}
