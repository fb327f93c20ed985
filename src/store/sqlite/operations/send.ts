/**
 * Sends a handoff in one transaction: handoff record with relations, envelope, deliveries, events, entries,
 * and, when an agent hands on, the completion of its own delivery. Everything is written or nothing is, also of
 * several handoffs.
 */

import { deliveryOf } from "../../codecs.ts";
import { isOpenWorkUnchanged } from "../../extension.ts";
import { BREAKER, type DeliveryRow } from "../../rows.ts";
import {
  IGNORE_BREAKER,
  type RefusedHandoff,
  type SendHandoff,
  type SendManyOutcome,
  type SendOutcome,
  type SendRefusal,
} from "../../store.ts";
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

/** Sends a handoff, or returns why not. Throws a `Refusal` if an id proves to be taken after writing. */
export function sendHandoff(tx: Transaction, operation: SendHandoff): SendOutcome {
  const checked = check(tx, operation);
  return checked.kind === "sendable" ? write(tx, checked, operation) : checked;
}

/** Sends several handoffs, or none. Checks all of them before it writes the first. */
export function sendHandoffs(tx: Transaction, operations: readonly SendHandoff[]): SendManyOutcome {
  const all: SendableHandoff[] = [];
  const refused: RefusedHandoff[] = [];
  for (const [index, operation] of operations.entries()) {
    const checked = check(tx, operation);
    if (checked.kind === "sendable") all.push(checked);
    else refused.push({ index, refusal: checked });
  }
  if (refused.length > 0) return { kind: "refused", refused };
  const sent = operations.map((operation, index) => {
    try {
      return write(tx, all[index] as SendableHandoff, operation);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const outcome = { kind: "refused", refused: [{ index, refusal: error.outcome }] } as const;
      throw new Refusal<SendManyOutcome>(outcome, { cause: error });
    }
  });
  return { kind: "sent", sent };
}

/** A handoff that passed every check. */
interface SendableHandoff {
  readonly kind: "sendable";
  readonly workspace: number;
  readonly ahead: QueueHead;
  /** The sender's own delivery, which it completes. */
  readonly own: DeliveryRow | undefined;
}

/** Checks a handoff; writes nothing. */
function check(tx: Transaction, operation: SendHandoff): SendRefusal | SendableHandoff {
  const { settles } = operation;
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
  if (outdated === undefined) return { kind: "sendable", workspace, ahead, own: own?.delivery };
  // Report a taken id first, so that a sender that repeats a handoff learns that it was sent already.
  return refuseTaken(tx, workspace, operation.memory) ?? outdated;
}

function write(
  tx: Transaction,
  { workspace, ahead, own }: SendableHandoff,
  operation: SendHandoff,
): Extract<SendOutcome, { kind: "sent" }> {
  const { envelope, entries = [] } = operation;
  const target = { name: operation, workspace };
  const { place, position } = append(tx, target, operation.memory);
  if (!addEnvelope(tx, { workspace, position }, envelope)) {
    throw new Refusal<SendRefusal>({ kind: "id_taken", id: envelope.id });
  }
  for (const entry of entries) writeEntry(tx, workspace, entry);
  if (own !== undefined) {
    const settlement = { kind: "completed" } as const;
    finish(tx, target, { held: own, settlement, settledBy: place, reason: "" });
    tx.wake(operation.workspace, own.sender);
  }
  const to = { ...ahead, workspace, position, at: place.storedAt };
  return { kind: "sent", place, ...deliver(tx, to, operation) };
}

/** Checks receivers, parents and record. */
function refuse(
  tx: Transaction,
  workspace: number,
  { deliveries, envelope, memory }: SendHandoff,
): SendRefusal | undefined {
  for (const { receiver } of deliveries) {
    const refused = refuseReceiver(tx, workspace, receiver);
    if (refused !== undefined) return refused;
  }
  return missingParent(tx, workspace, envelope) ?? refuseRecord(tx, workspace, memory);
}

/** Returns the first difference between the store and what the sender assumed. */
function findConflict(
  tx: Transaction,
  workspace: number,
  { entries = [], extend, deliveries: [only, ...others], breaker }: SendHandoff,
  open: DeliveryRow | undefined,
): SendRefusal | undefined {
  for (const entry of entries) {
    const now = findEntry(tx.sql, workspace, entry);
    if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
  }
  if (!isOpenWorkUnchanged(open, extend)) {
    const memory = open && readEnvelope(tx.sql, workspace, open).memory;
    return { kind: "changed", open: open && memory ? { delivery: open, memory } : undefined };
  }
  if (only === undefined || others.length > 0 || open !== undefined) return undefined;
  if (breaker === IGNORE_BREAKER) return undefined;
  const opened = tx.hasBreakers(workspace)
    ? findEntry(tx.sql, workspace, { kind: BREAKER, name: only.receiver })
    : undefined;
  if ((opened?.revision ?? 0) === breaker) return undefined;
  return { kind: "breaker_changed", entry: opened };
}

/** Rows of a queue to read: one that may end here, one that may be extended, and the next. */
const QUEUE_LOOKAHEAD = 3;

/**
 * Reads what is open for this receiver and task: three rows and one probe are enough, however many wait. A
 * publication extends nothing; its queues are read one by one when it is delivered.
 */
function lookAhead(
  { sql }: Transaction,
  workspace: number,
  { deliveries: [only, ...others], envelope: { task, sender }, parent, settles }: SendHandoff,
): QueueHead {
  if (only === undefined || others.length > 0) return { open: undefined, first: undefined };
  const { receiver } = only;
  const rows = sql.queue.all(workspace, receiver, task, QUEUE_LOOKAHEAD);
  // A delivery that is not among the first is not in turn, and there is an index for those.
  const isAll = rows.length < QUEUE_LOOKAHEAD;
  const rest = isAll ? [] : sql.queuedWork.all(workspace, receiver, task, sender, parent);
  // The delivery that this handoff completes is not open any more.
  const staysOpen = ({ id }: DeliveryRow) => id !== settles?.delivery;
  const queue = rows.map(deliveryOf).filter(staysOpen);
  const [open] = [...queue, ...rest.map(deliveryOf).filter(staysOpen)]
    .filter((row) => row.sender === sender && row.parent === parent)
    .sort(compareByPlace); // There can be two, after one was rerouted to this receiver.
  return { open, first: queue.find(({ id }) => id !== open?.id)?.place };
}
