/**
 * Who holds a delivery. A lease is good while the delivery is held, the fence is the holder's, and
 * its time has not run out; whoever comes later than that is refused, whatever it has done.
 */

import { deliveryOf, stateNumber } from "../codecs.ts";
import { type AttemptRow, type DeliveryRow, isHeld } from "../rows.ts";
import type {
  ClaimDeliveries,
  Lease,
  LeaseLost,
  LeaseRefusal,
  RenewOutcome,
  Session,
} from "../store.ts";
import { findDelivery, passTurn, readEnvelope, record } from "./deliveries.ts";
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
export function renew(
  tx: Transaction,
  workspace: number,
  delivery: DeliveryRow,
  leaseMs: number,
): DeliveryRow {
  const leaseUntil = tx.now + leaseMs;
  tx.sql.renew.run(leaseUntil, workspace, delivery.id, delivery.fence);
  return { ...delivery, leaseUntil };
}

export function renewLease(tx: Transaction, name: string, lease: Lease): RenewOutcome {
  const workspace = tx.workspace(name);
  const held = holding(tx, workspace, lease);
  if (held.kind !== "held") return held;
  return { kind: "renewed", delivery: renew(tx, workspace, held.delivery, lease.leaseMs) };
}

export function renewSession(tx: Transaction, session: Session, leaseMs: number): void {
  const workspace = tx.workspace(session.workspace);
  const { agent, instance } = session;
  tx.sql.renewSession.run(tx.now + leaseMs, workspace, tx.now, agent, instance);
}

/** Why an attempt ended that nobody settled: its time ran out, or its process is no more. */
const EXPIRED = "";
const PROCESS_ENDED = '{"reason":"process ended"}';

/**
 * Work whose holder fell silent or died goes back to the inbox, or to dead letters when it was the
 * last try; retries whose time has come become ready. Done by whoever claims next: no daemon.
 */
export function sweep(
  tx: Transaction,
  workspace: number,
  { workspace: name, gone }: Pick<ClaimDeliveries, "workspace" | "gone">,
): void {
  const giveBack = (deliveries: readonly DeliveryRow[], reason: string): void => {
    for (const delivery of deliveries) {
      lose(tx, workspace, delivery, reason);
      tx.wake(name, delivery.receiver);
    }
  };
  if (tx.sweepOnce(workspace)) {
    tx.sql.makeDue.run(workspace, tx.now);
    giveBack(tx.sql.expiredLeases.all(workspace, tx.now, SWEEP).map(deliveryOf), EXPIRED);
  }
  if (gone.length > 0) giveBack(heldByGone(tx, workspace, gone), PROCESS_ENDED);
}

function heldByGone(tx: Transaction, workspace: number, gone: readonly string[]): DeliveryRow[] {
  return [...new Set(gone)]
    .flatMap((process) => tx.sql.heldByProcess.all(workspace, process, SWEEP).map(deliveryOf))
    .sort((a, b) => a.place - b.place)
    .slice(0, SWEEP);
}

function lose(tx: Transaction, workspace: number, delivery: DeliveryRow, reason: string): void {
  const dead = delivery.attempt >= delivery.maxAttempts;
  const next = stateNumber(dead ? "dead" : "ready");
  tx.sql.settle.run(next, 0, dead ? tx.now : 0, "", workspace, delivery.id, delivery.fence);
  endAttempt(tx, workspace, delivery, { outcome: "expired", reason });
  record(tx, workspace, { kind: dead ? "dead" : "expired", agent: delivery.holder, delivery });
  if (dead) passTurn(tx, workspace, delivery);
}

export function endAttempt(
  tx: Transaction,
  workspace: number,
  delivery: DeliveryRow,
  end: Pick<AttemptRow, "outcome" | "reason"> & { readonly at?: number | undefined },
): void {
  tx.sql.addAttempt.run(
    workspace,
    delivery.id,
    delivery.attempt,
    end.at ?? tx.now,
    end.outcome,
    delivery.holder,
    delivery.instance,
    end.reason,
  );
}
