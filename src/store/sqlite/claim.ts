/**
 * Claiming: the oldest ready deliveries of a receiver, each to exactly one holder. Touches ready
 * rows only (their own partial index), so its cost does not grow with what was completed.
 */
import type { DeliveryRow, NewMemory } from "../rows.ts";
import type { ClaimDeliveries, Claimed, ClaimOutcome } from "../store.ts";
import { refuseAuthor } from "./agents.ts";
import { append, refuseRecord } from "./append.ts";
import { deliveryOf, single } from "./codecs.ts";
import { findDelivery, readEnvelope, record } from "./deliveries.ts";
import { sweep } from "./lease.ts";
import { Refusal } from "./refusal.ts";
import type { Transaction } from "./transaction.ts";

export function claimDeliveries(tx: Transaction, operation: ClaimDeliveries): ClaimOutcome {
  const workspace = tx.workspace(operation.workspace);
  const author = { agent: operation.receiver, publicKey: operation.publicKey };
  const refused = refuseAuthor(tx, workspace, author);
  if (refused !== undefined) return refused;
  sweep(tx, operation.workspace, workspace);
  const claimed = candidates(tx, workspace, operation).map((delivery) =>
    operation.accept === undefined
      ? claim(tx, { workspace, delivery }, operation)
      : take(tx, { workspace, delivery }, operation.accept, operation),
  );
  const nextDueAt = claimed.length < operation.limit ? nextDue(tx, workspace) : 0;
  return { kind: "claimed", claimed, nextDueAt };
}

function candidates(
  tx: Transaction,
  workspace: number,
  { receiver, delivery, task, limit }: ClaimDeliveries,
): DeliveryRow[] {
  if (delivery !== undefined) {
    const one = findDelivery(tx.sql, workspace, delivery);
    const fits = one?.receiver === receiver && (task === undefined || one.task === task);
    return one?.state === "ready" && fits ? [one] : [];
  }
  if (task === undefined) {
    return tx.sql.readyDeliveries.all(workspace, receiver, limit).map(deliveryOf);
  }
  const open = tx.sql.openOfTask.all(workspace, receiver, task).map(deliveryOf);
  return open.filter((candidate) => candidate.state === "ready").slice(0, limit);
}

interface Candidate {
  readonly workspace: number;
  readonly delivery: DeliveryRow;
}

/** The delivery as its new holder has it: one try more, and a fence nobody else knows. */
function heldBy(
  tx: Transaction,
  delivery: DeliveryRow,
  { receiver, instance, leaseMs }: ClaimDeliveries,
): DeliveryRow {
  return {
    ...delivery,
    state: "claimed",
    attempt: delivery.attempt + 1,
    fence: delivery.fence + 1,
    leaseUntil: tx.now + leaseMs,
    seenAt: tx.now,
    holder: receiver,
    instance,
  };
}

function claim(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  operation: ClaimDeliveries,
): Claimed {
  const claimed = heldBy(tx, delivery, operation);
  const { leaseUntil, seenAt, holder, instance } = claimed;
  tx.sql.claim.run(leaseUntil, seenAt, holder, instance, delivery.id, delivery.fence);
  record(tx, workspace, { kind: "claimed", agent: holder, delivery: claimed });
  return { delivery: claimed, envelope: readEnvelope(tx.sql, workspace, delivery.envelope) };
}

/** Claim and accept at once: one row update and one event instead of two of each. */
function take(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  accept: (claimed: Claimed) => NewMemory,
  operation: ClaimDeliveries,
): Claimed {
  const held: DeliveryRow = { ...heldBy(tx, delivery, operation), state: "accepted" };
  const envelope = readEnvelope(tx.sql, workspace, delivery.envelope);
  const memory = accept({ delivery: held, envelope });
  const refused = refuseRecord(tx, workspace, memory);
  if (refused !== undefined) throw new Refusal(refused);
  const { place } = append(tx, { name: operation, workspace }, memory);
  const taken = { ...held, acceptedAt: place.storedAt, acceptedBy: memory.id };
  tx.sql.takeAtOnce.run(
    taken.leaseUntil,
    taken.seenAt,
    taken.acceptedAt,
    taken.holder,
    taken.instance,
    taken.acceptedBy,
    delivery.id,
    delivery.fence,
  );
  record(tx, workspace, { kind: "accepted", agent: taken.holder, delivery: taken });
  tx.wake(operation.workspace, taken.sender);
  return { delivery: taken, envelope };
}

function nextDue(tx: Transaction, workspace: number): number {
  const retry = single<number>(tx.sql.nextRetry.get(workspace));
  const expiry = single<number>(tx.sql.nextExpiry.get(workspace));
  const due = Math.min(retry ?? Number.POSITIVE_INFINITY, expiry ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(due) ? due : 0;
}
