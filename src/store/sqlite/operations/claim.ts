/**
 * Claims deliveries: the first ones of an agent's own inbox and its role's that are ready and in turn, each
 * for exactly one holder. Only these are read (they have a partial index), so the cost grows neither with
 * completed deliveries nor with those that wait behind an earlier one of their task. Each inbox is read up to
 * the limit; the two are merged here.
 */

import { type DeliveryRow, type NewMemory, roleInbox } from "../../rows.ts";
import type {
  ClaimDeliveries,
  ClaimNext,
  ClaimOutcome,
  DeliveryWithEnvelopeRow,
} from "../../store.ts";
import { isSqliteFailure } from "../failures.ts";
import { Refusal } from "../refusal.ts";
import { deliverySum } from "../row-sums.ts";
import type { Transaction } from "../transaction.ts";
import { refuseAuthor } from "./agents.ts";
import { append, refuseAppend, refuseRecord, type Target } from "./append.ts";
import { findDelivery, recordEvent } from "./deliveries.ts";
import { makeRetriesReady, nextDue } from "./due.ts";
import { readEnvelopeCachingPosition, withEnvelope } from "./envelopes.ts";
import { mergeInOrder } from "./list-deliveries.ts";

/** Claims up to `limit` deliveries. Throws a `Refusal` if the record that accepts one is refused. */
export function claimDeliveries(tx: Transaction, operation: ClaimDeliveries): ClaimOutcome {
  const workspace = tx.workspace(operation.workspace);
  const author = { agent: operation.receiver, publicKey: operation.publicKey };
  const refused = refuseAuthor(tx, workspace, author);
  if (refused !== undefined) return refused;
  makeRetriesReady(tx, workspace);
  const claimed = candidates(tx, workspace, operation).map((delivery) =>
    operation.accept === undefined
      ? claim(tx, { workspace, delivery }, operation)
      : claimAndAccept(tx, { workspace, delivery }, operation.accept, operation),
  );
  const isFull = claimed.length >= operation.limit;
  const nextDueMs = isFull ? Number.POSITIVE_INFINITY : nextDue(tx, workspace);
  return { kind: "claimed", claimed, nextDueMs };
}

/**
 * Claims and accepts the next delivery in the transaction of a settlement; undefined if there is none, or if
 * it would be refused. Checks everything before the first write, because the settlement must not be undone.
 */
export function claimNext(
  tx: Transaction,
  { name: { workspace: name }, workspace }: Target,
  next: ClaimNext,
): DeliveryWithEnvelopeRow | undefined {
  const operation = { ...next, workspace: name, limit: 1 };
  const author = { agent: next.receiver, publicKey: next.publicKey };
  if (refuseAuthor(tx, workspace, author) !== undefined) return undefined;
  makeRetriesReady(tx, workspace);
  const acceptance = prepareNext(tx, workspace, { operation, accept: next.accept });
  if (acceptance === undefined) return undefined;
  const refused = refuseAppend(tx, { name: operation, workspace }, acceptance.memory);
  return refused === undefined ? take(tx, acceptance, { operation, workspace }) : undefined;
}

/**
 * Prepares the acceptance of the next delivery; undefined if there is none, if it is damaged, or if the
 * caller's function throws. The next ordinary claim throws the same, and its caller gets the error.
 */
function prepareNext(
  tx: Transaction,
  workspace: number,
  { operation, accept }: { readonly operation: ClaimDeliveries } & Pick<ClaimNext, "accept">,
): Acceptance | undefined {
  try {
    const [delivery] = candidates(tx, workspace, operation);
    return delivery && prepareAcceptance(tx, { workspace, delivery }, accept, operation);
  } catch (error) {
    if (isSqliteFailure(error)) throw error; // SQLite may have ended the transaction.
    return undefined;
  }
}

/** Returns the deliveries to claim. */
function candidates(
  tx: Transaction,
  workspace: number,
  { receiver, delivery, task, limit }: ClaimDeliveries,
): DeliveryRow[] {
  const inboxes = inboxesOf(tx, workspace, receiver);
  if (delivery !== undefined) {
    const one = findDelivery(tx.sql, workspace, delivery);
    const fits =
      one?.state === "ready" &&
      one.inTurn &&
      (one.deadline === 0 || one.deadline > tx.now) &&
      inboxes.includes(one.receiver) &&
      (task === undefined || one.task === task);
    return fits ? [one] : [];
  }
  const lists = inboxes.map((inbox) =>
    task === undefined
      ? readyIn(tx, workspace, inbox, limit)
      : tx.sql.readyOfTask.all(workspace, inbox, task, limit, tx.now),
  );
  return mergeInOrder(lists, limit);
}

/** Returns what is ready in an inbox; an empty one is not read again for every claim of a transaction. */
function readyIn(tx: Transaction, workspace: number, inbox: string, limit: number) {
  if (tx.isKnownEmpty(workspace, inbox)) return [];
  const ready = tx.sql.readyDeliveries.all(workspace, inbox, tx.now, limit);
  if (ready.length === 0) tx.markEmpty(workspace, inbox);
  return ready;
}

/** Returns the inboxes an agent claims from; none while it is paused. */
function inboxesOf(tx: Transaction, workspace: number, agent: string): readonly string[] {
  const known = tx.agent(workspace, agent);
  if (known === undefined || known.status === "paused") return [];
  return known.role === "" ? [agent] : [agent, roleInbox(known.role)];
}

interface Candidate {
  readonly workspace: number;
  readonly delivery: DeliveryRow;
}

/** Returns the delivery as its new holder gets it: with one attempt more and a new fence. */
function claimedRow(
  tx: Transaction,
  delivery: DeliveryRow,
  { receiver, instance, process, leaseMs, holdMs }: ClaimDeliveries,
): DeliveryRow {
  return {
    ...delivery,
    state: "claimed",
    attempt: delivery.attempt + 1,
    fence: delivery.fence + 1,
    leaseUntil: tx.now + Math.min(leaseMs, holdMs),
    holdUntil: tx.now + holdMs,
    seenAt: delivery.seenAt || tx.now,
    holder: receiver,
    instance,
    process,
  };
}

function claim(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  operation: ClaimDeliveries,
): DeliveryWithEnvelopeRow {
  const claimed = claimedRow(tx, delivery, operation);
  const { leaseUntil, holdUntil, seenAt, holder, instance, process } = claimed;
  tx.sql.claim.run(
    leaseUntil,
    holdUntil,
    seenAt,
    holder,
    instance,
    process,
    deliverySum(claimed),
    workspace,
    delivery.id,
    delivery.fence,
  );
  recordEvent(tx, workspace, { kind: "claimed", agent: holder, delivery: claimed });
  return withEnvelope(tx.sql, workspace, claimed);
}

/** Claims and accepts at once: one row update and one event instead of two of each. */
function claimAndAccept(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  accept: (claimed: DeliveryWithEnvelopeRow) => NewMemory,
  operation: ClaimDeliveries,
): DeliveryWithEnvelopeRow {
  const acceptance = prepareAcceptance(tx, { workspace, delivery }, accept, operation);
  const refused = refuseRecord(tx, workspace, acceptance.memory);
  if (refused !== undefined) throw new Refusal(refused);
  return take(tx, acceptance, { operation, workspace });
}

/** Reads what is accepted and makes the record; writes nothing. */
function prepareAcceptance(
  tx: Transaction,
  { workspace, delivery }: Candidate,
  accept: (claimed: DeliveryWithEnvelopeRow) => NewMemory,
  operation: ClaimDeliveries,
): Acceptance {
  const held: DeliveryRow = { ...claimedRow(tx, delivery, operation), state: "accepted" };
  const envelope = readEnvelopeCachingPosition(tx, workspace, delivery);
  return { held, envelope, memory: accept({ delivery: held, envelope }) };
}

/** A delivery as its new holder gets it, and the checked record that accepts it. */
interface Acceptance {
  readonly held: DeliveryRow;
  readonly envelope: DeliveryWithEnvelopeRow["envelope"];
  readonly memory: NewMemory;
}

/** Writes a claim that accepts at once. */
function take(
  tx: Transaction,
  { held, envelope, memory }: Acceptance,
  { operation, workspace }: { readonly operation: ClaimDeliveries; readonly workspace: number },
): DeliveryWithEnvelopeRow {
  const { place } = append(tx, { name: operation, workspace }, memory);
  const lapseAt = held.deadline;
  const taken = { ...held, lapseAt, acceptedAt: place.storedAt, acceptedBy: memory.id };
  tx.sql.takeAtOnce.run(
    taken.leaseUntil,
    taken.holdUntil,
    taken.seenAt,
    taken.acceptedAt,
    taken.holder,
    taken.instance,
    taken.process,
    taken.acceptedBy,
    deliverySum(taken),
    workspace,
    held.id,
    held.fence - 1,
  );
  recordEvent(tx, workspace, { kind: "accepted", agent: taken.holder, delivery: taken });
  tx.wake(operation.workspace, taken.sender);
  return { delivery: taken, envelope };
}
