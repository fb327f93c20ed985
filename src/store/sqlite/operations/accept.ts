/** Accepts a claimed delivery: renews its lease and appends the receiver's continues-from record. */
import type { DeliveryRow } from "../../rows.ts";
import type { AcceptDelivery, AcceptOutcome } from "../../store.ts";
import type { Transaction } from "../transaction.ts";
import { append, refuseRecord } from "./append.ts";
import { recordEvent } from "./deliveries.ts";
import { checkNewestLease, renewedUntil } from "./lease.ts";

/** Accepts a delivery if the lease is current and the holder knows the newest envelope. */
export function acceptDelivery(tx: Transaction, operation: AcceptDelivery): AcceptOutcome {
  const { lease, memory } = operation;
  const workspace = tx.workspace(operation.workspace);
  const held = checkNewestLease(tx, workspace, lease);
  if (held.kind !== "held") return held;
  const claimed = held.delivery;
  if (claimed.state !== "claimed") return { kind: "lease_lost", delivery: claimed };
  const refused = refuseRecord(tx, workspace, memory);
  if (refused !== undefined) return refused;
  const { place } = append(tx, { name: operation, workspace }, memory);
  const leaseUntil = renewedUntil(tx, claimed, lease.leaseMs);
  const { delivery: id, fence } = lease;
  tx.sql.accept.run(leaseUntil, place.storedAt, memory.id, workspace, id, fence);
  const delivery: DeliveryRow = {
    ...claimed,
    state: "accepted",
    leaseUntil,
    lapseAt: claimed.deadline,
    acceptedAt: place.storedAt,
    acceptedBy: memory.id,
  };
  recordEvent(tx, workspace, { kind: "accepted", agent: delivery.holder, delivery });
  tx.wake(operation.workspace, delivery.sender);
  return { kind: "accepted", place, delivery };
}
