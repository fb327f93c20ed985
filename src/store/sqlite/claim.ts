/**
 * Claiming: the oldest deliveries of a receiver that are ready and in turn, each to exactly one
 * holder. Touches those only (they have a partial index of their own), so its cost grows neither
 * with what was completed nor with what waits behind an earlier delivery of its task.
 */

import { deliveryOf } from "../codecs.ts";
import type { DeliveryRow, NewMemory } from "../rows.ts";
import type { ClaimDeliveries, Claimed, ClaimOutcome } from "../store.ts";
import { refuseAuthor } from "./agents.ts";
import { append, refuseRecord } from "./append.ts";
import { findDelivery, openDeliveries, readEnvelope, record } from "./deliveries.ts";
import { sweep } from "./lease.ts";
import { Refusal } from "./refusal.ts";
import { single } from "./scalar.ts";
import type { Transaction } from "./transaction.ts";

export function claimDeliveries(tx: Transaction, operation: ClaimDeliveries): ClaimOutcome {
  const workspace = tx.workspace(operation.workspace);
  const author = { agent: operation.receiver, publicKey: operation.publicKey };
  const refused = refuseAuthor(tx, workspace, author);
  if (refused !== undefined) return refused;
  sweep(tx, workspace, operation);
  const claimed = candidates(tx, workspace, operation).map((delivery) =>
    operation.accept === undefined
      ? claim(tx, { workspace, delivery }, operation)
      : take(tx, { workspace, delivery }, operation.accept, operation),
  );
  const nextDueMs = claimed.length < operation.limit ? nextDue(tx, workspace) : 0;
  return { kind: "claimed", claimed, nextDueMs };
}

function candidates(
  tx: Transaction,
  workspace: number,
  { receiver, delivery, task, limit }: ClaimDeliveries,
): DeliveryRow[] {
  const claimable = (one: DeliveryRow | undefined): DeliveryRow[] =>
    one?.state === "ready" && one.inTurn ? [one] : [];
  if (delivery !== undefined) {
    const one = findDelivery(tx.sql, workspace, delivery);
    const fits = one?.receiver === receiver && (task === undefined || one.task === task);
    return fits ? claimable(one) : [];
  }
  if (task !== undefined) {
    const [first] = openDeliveries(tx.sql, workspace, { receiver, task, limit: 1 });
    return claimable(first);
  }
  return tx.sql.readyDeliveries.all(workspace, receiver, limit).map(deliveryOf);
}

interface Candidate {
  readonly workspace: number;
  readonly delivery: DeliveryRow;
}

/** The delivery as its new holder has it: one try more, and a fence nobody else knows. */
function heldBy(
  tx: Transaction,
  delivery: DeliveryRow,
  { receiver, instance, process, leaseMs }: ClaimDeliveries,
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
    process,
  };
}

function claim(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  operation: ClaimDeliveries,
): Claimed {
  const claimed = heldBy(tx, delivery, operation);
  const { leaseUntil, seenAt, holder, instance, process } = claimed;
  tx.sql.claim.run(
    leaseUntil,
    seenAt,
    holder,
    instance,
    process,
    workspace,
    delivery.id,
    delivery.fence,
  );
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
    taken.process,
    taken.acceptedBy,
    workspace,
    delivery.id,
    delivery.fence,
  );
  record(tx, workspace, { kind: "accepted", agent: taken.holder, delivery: taken });
  tx.wake(operation.workspace, taken.sender);
  return { delivery: taken, envelope };
}

/** In how many milliseconds; 0: nothing will fall due. */
function nextDue(tx: Transaction, workspace: number): number {
  const retry = single<number>(tx.sql.nextRetry.get(workspace));
  const expiry = single<number>(tx.sql.nextExpiry.get(workspace));
  const due = Math.min(retry ?? Number.POSITIVE_INFINITY, expiry ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(due) ? Math.max(1, due - tx.now) : 0;
}
