/**
 * Sending, in one transaction: handoff record with its relations, envelope, deliveries, events, the
 * entries it brings, and (when an agent hands on) the completion of its own delivery. All of it or
 * nothing.
 */

import { deliveryOf } from "../../codecs.ts";
import { isOpenWorkUnchanged } from "../../extension.ts";
import { BREAKER, type DeliveryRow } from "../../rows.ts";
import { IGNORE_BREAKER, type SendHandoff, type SendOutcome } from "../../store.ts";
import { Refusal } from "../refusal.ts";
import type { Transaction } from "../transaction.ts";
import { refuseReceiver } from "./agents.ts";
import { append, refuseRecord, refuseTaken } from "./append.ts";
import { deliver, type QueueHead } from "./deliver.ts";
import { compareByPlace } from "./deliveries.ts";
import { findEntry, writeEntry } from "./entries.ts";
import { addEnvelope, missingParent, readEnvelope } from "./envelopes.ts";
import { checkNewestLease } from "./lease.ts";
import { finish } from "./settle.ts";

export function sendHandoff(tx: Transaction, operation: SendHandoff): SendOutcome {
  const { envelope, entries = [], settles } = operation;
  const workspace = tx.workspace(operation.workspace);
  const own = settles && checkNewestLease(tx, workspace, settles);
  if (own !== undefined && own.kind !== "held") return own;
  if (own !== undefined && own.delivery.state !== "accepted") {
    return { kind: "lease_lost", delivery: own.delivery };
  }
  const refused = refuse(tx, workspace, operation);
  if (refused !== undefined) return refused;
  const ahead = lookAhead(tx, workspace, operation);
  const outdated = findConflict(tx, workspace, operation, ahead.open);
  // A taken id is told first: whoever sends the same thing again shall hear of that.
  if (outdated !== undefined) return refuseTaken(tx, workspace, operation.memory) ?? outdated;
  const target = { name: operation, workspace };
  const { place, position } = append(tx, target, operation.memory);
  if (!addEnvelope(tx, { workspace, position }, envelope)) {
    throw new Refusal<SendOutcome>({ kind: "id_taken", id: envelope.id });
  }
  for (const entry of entries) writeEntry(tx, workspace, entry);
  if (own !== undefined) {
    const settlement = { kind: "completed" } as const;
    finish(tx, target, { held: own.delivery, settlement, settledBy: place, reason: "" });
    tx.wake(operation.workspace, own.delivery.sender);
  }
  const to = { ...ahead, workspace, position, at: place.storedAt };
  return { kind: "sent", place, ...deliver(tx, to, operation) };
}

function refuse(
  tx: Transaction,
  workspace: number,
  { deliveries, envelope, memory }: SendHandoff,
): SendOutcome | undefined {
  for (const { receiver } of deliveries) {
    const refused = refuseReceiver(tx, workspace, receiver);
    if (refused !== undefined) return refused;
  }
  return missingParent(tx, workspace, envelope) ?? refuseRecord(tx, workspace, memory);
}

/** What the sender believed of the store, and is not so. */
function findConflict(
  tx: Transaction,
  workspace: number,
  { entries = [], extend, deliveries: [only, ...others], breaker }: SendHandoff,
  open: DeliveryRow | undefined,
): SendOutcome | undefined {
  for (const entry of entries) {
    const now = findEntry(tx.sql, workspace, entry);
    if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
  }
  if (!isOpenWorkUnchanged(open, extend)) {
    const memory = open && readEnvelope(tx.sql, workspace, open.envelope).memory;
    return { kind: "changed", open: open && memory ? { delivery: open, memory } : undefined };
  }
  if (only === undefined || others.length > 0 || open !== undefined) return undefined;
  if (breaker === IGNORE_BREAKER) return undefined;
  const opened = findEntry(tx.sql, workspace, { kind: BREAKER, name: only.receiver });
  if ((opened?.revision ?? 0) === breaker) return undefined;
  return { kind: "breaker_changed", entry: opened };
}

/** Rows of a queue that are looked at: one that may end here, one that may be joined, the next. */
const QUEUE_LOOKAHEAD = 3;

/**
 * What is open of this receiver and task: three rows and a probe tell, however many wait. What is
 * published to several joins nothing, and is looked at one by one when it is delivered.
 */
function lookAhead(
  { sql }: Transaction,
  workspace: number,
  { deliveries: [only, ...others], envelope: { task, sender }, parent, settles }: SendHandoff,
): QueueHead {
  if (only === undefined || others.length > 0) return { open: undefined, first: undefined };
  const { receiver } = only;
  const rows = sql.queue.all(workspace, receiver, task, QUEUE_LOOKAHEAD);
  // Whatever is not among the first waits for its turn, and has an index for that.
  const isAll = rows.length < QUEUE_LOOKAHEAD;
  const rest = isAll ? [] : sql.queuedWork.all(workspace, receiver, task, sender, parent);
  // What ends here is not open any more.
  const staysOpen = ({ id }: DeliveryRow) => id !== settles?.delivery;
  const queue = rows.map(deliveryOf).filter(staysOpen);
  const [open] = [...queue, ...rest.map(deliveryOf).filter(staysOpen)]
    .filter((row) => row.sender === sender && row.parent === parent)
    .sort(compareByPlace); // There can be two, after one was sent on to this receiver.
  return { open, first: queue.find(({ id }) => id !== open?.id)?.place };
}
