/**
 * Who holds a delivery. A lease is good while the delivery is held, the fence is the holder's, and
 * its time has not run out; whoever comes later than that is refused, whatever it has done.
 */
import { type AttemptRow, type DeliveryRow, isHeld } from "../rows.ts";
import type { Lease, LeaseLost, LeaseRefusal, RenewOutcome } from "../store.ts";
import { deliveryOf, stateNumber } from "./codecs.ts";
import { findDelivery, readEnvelope, record } from "./deliveries.ts";
import type { Transaction } from "./transaction.ts";

/** Leases looked at in one sweep; the next claim goes on with the rest. */
const SWEEP = 100;

interface Held {
  readonly kind: "held";
  readonly delivery: DeliveryRow;
}

/** The delivery, when the lease is good. */
export function holding(tx: Transaction, workspace: number, lease: Lease): Held | LeaseLost {
  const delivery = findDelivery(tx.sql, workspace, lease.delivery);
  return delivery !== undefined && isGood(delivery, lease.fence, tx.now)
    ? { kind: "held", delivery }
    : { kind: "lease_lost", delivery };
}

/** The delivery, when the lease is good and the holder knows the newest envelope. */
export function holdingNewest(
  tx: Transaction,
  workspace: number,
  lease: Lease,
): Held | LeaseRefusal {
  const held = holding(tx, workspace, lease);
  if (held.kind !== "held" || held.delivery.envelope === lease.envelope) return held;
  return { kind: "extended", envelope: readEnvelope(tx.sql, workspace, held.delivery.envelope) };
}

function isGood(delivery: DeliveryRow, fence: number, now: number): boolean {
  return isHeld(delivery.state) && delivery.fence === fence && delivery.leaseUntil > now;
}

/** Gives a good lease its full time again. */
export function renew(tx: Transaction, delivery: DeliveryRow, leaseMs: number): DeliveryRow {
  const leaseUntil = tx.now + leaseMs;
  tx.sql.renew.run(leaseUntil, delivery.id, delivery.fence);
  return { ...delivery, leaseUntil };
}

export function renewLease(tx: Transaction, name: string, lease: Lease): RenewOutcome {
  const held = holding(tx, tx.workspace(name), lease);
  if (held.kind !== "held") return held;
  return { kind: "renewed", delivery: renew(tx, held.delivery, lease.leaseMs) };
}

/**
 * Work whose holder fell silent goes back to the inbox, or to dead letters when it was the last
 * try; retries whose time has come become ready. Done by whoever claims next: no daemon.
 */
export function sweep(tx: Transaction, name: string, workspace: number): void {
  if (!tx.sweepOnce(workspace)) return;
  tx.sql.makeDue.run(workspace, tx.now);
  for (const delivery of tx.sql.expiredLeases.all(workspace, tx.now, SWEEP).map(deliveryOf)) {
    const dead = delivery.attempt >= delivery.maxAttempts;
    const next = stateNumber(dead ? "dead" : "ready");
    tx.sql.settle.run(next, 0, dead ? tx.now : 0, "", delivery.id, delivery.fence);
    endAttempt(tx, delivery, { outcome: "expired", reason: "" });
    record(tx, workspace, { kind: dead ? "dead" : "expired", agent: delivery.holder, delivery });
    tx.wake(name, delivery.receiver);
  }
}

export function endAttempt(
  tx: Transaction,
  delivery: DeliveryRow,
  end: Pick<AttemptRow, "outcome" | "reason"> & { readonly at?: number | undefined },
): void {
  tx.sql.addAttempt.run(
    delivery.id,
    delivery.attempt,
    end.at ?? tx.now,
    end.outcome,
    delivery.holder,
    delivery.instance,
    end.reason,
  );
}
