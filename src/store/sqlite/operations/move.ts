/**
 * Moves deliveries: applies decisions of policies and people about deliveries that the caller does not hold.
 * All of them must be as they were seen, or nothing changes; then each is changed, in the order of the list.
 */

import { stateNumber } from "../../codecs.ts";
import { type DeliveryRow, isHeld, isOpen, soonest } from "../../rows.ts";
import type { ChainPosition, Move, MoveDeliveries, MoveOutcome } from "../../store.ts";
import { deliverySum } from "../row-sums.ts";
import { numberOf } from "../scalar.ts";
import type { Transaction } from "../transaction.ts";
import { refuseReceiver } from "./agents.ts";
import { append, refuseRecord, refuseTaken, type Target } from "./append.ts";
import { findDelivery, noteIfOpen, passTurn, placeBehind, recordEvent } from "./deliveries.ts";
import { findEntry, writeEntry } from "./entries.ts";
import { addEnvelope, envelopeExists, missingParent } from "./envelopes.ts";
import { endAttempt } from "./lease.ts";

/** Applies all moves, or none if one of them is refused. */
export function moveDeliveries(tx: Transaction, operation: MoveDeliveries): MoveOutcome {
  const { moves, memory, envelope, entries = [] } = operation;
  const workspace = tx.workspace(operation.workspace);
  const refused = findChanged(tx, workspace, moves) ?? refuse(tx, workspace, operation);
  if (refused !== undefined) return refused;
  const target = { name: operation, workspace };
  const appended = memory && append(tx, target, memory);
  if (envelope && appended) {
    addEnvelope(tx, { workspace, position: appended.position }, envelope);
  }
  for (const entry of entries) writeEntry(tx, workspace, entry);
  const order: MoveContext = { operation, target, place: appended?.place };
  return { kind: "moved", deliveries: moves.map((each) => move(tx, order, each)) };
}

/** Returns the first delivery that is not as it was seen. */
function findChanged(
  tx: Transaction,
  workspace: number,
  moves: readonly Move[],
): MoveOutcome | undefined {
  for (const { delivery: id, seen } of moves) {
    const delivery = findDelivery(tx.sql, workspace, id);
    const isAsSeen =
      delivery?.state === seen.state &&
      delivery.fence === seen.fence &&
      delivery.envelope === seen.envelope &&
      delivery.leaseUntil === (seen.leaseUntil ?? delivery.leaseUntil) &&
      delivery.lapseAt === (seen.lapseAt ?? delivery.lapseAt) &&
      delivery.followers === (seen.followers ?? delivery.followers);
    if (!isAsSeen) return { kind: "changed", delivery };
  }
  return undefined;
}

/** Checks receivers, parents, record, entries and envelope id. */
function refuse(
  tx: Transaction,
  workspace: number,
  { moves, memory, envelope, entries = [] }: MoveDeliveries,
): MoveOutcome | undefined {
  for (const { receiver } of moves) {
    const refused = receiver === undefined ? undefined : refuseReceiver(tx, workspace, receiver);
    if (refused !== undefined) return refused;
  }
  const refused =
    (envelope && missingParent(tx, workspace, envelope)) ??
    (memory && (refuseRecord(tx, workspace, memory) ?? refuseTaken(tx, workspace, memory)));
  if (refused !== undefined) return refused;
  for (const entry of entries) {
    const now = findEntry(tx.sql, workspace, entry);
    if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
  }
  if (envelope === undefined) return undefined;
  const { id } = envelope;
  return envelopeExists(tx, workspace, id) ? { kind: "id_taken", id } : undefined;
}

/** What all moves of an operation share. */
interface MoveContext {
  readonly operation: MoveDeliveries;
  readonly target: Target;
  /** Position of the record that the operation appends. */
  readonly place: ChainPosition | undefined;
}

function move(tx: Transaction, order: MoveContext, what: Move): DeliveryRow {
  const { operation, target, place } = order;
  const { workspace } = target;
  // Read again, because an earlier move may have passed the turn to this one.
  const before = findDelivery(tx.sql, workspace, what.delivery) as DeliveryRow;
  const tried = attemptedRow(before, what);
  if (what.ends) endAttempt(tx, workspace, tried, { ...what.ends, at: place?.storedAt });
  const moved = placeInQueue(tx, target, before, movedRow(tx, order, tried, what));
  write(tx, workspace, before, moved);
  noteIfOpen(tx, workspace, moved);
  recordEvent(tx, workspace, { kind: what.event, agent: operation.agent, delivery: moved });
  const holder = isHeld(before.state) ? [before.holder] : [];
  for (const agent of [moved.sender, moved.receiver, ...holder]) {
    tx.wake(operation.workspace, agent);
  }
  const left = isOpen(before.state) && (isNewInInbox(before, moved) || !isOpen(moved.state));
  if (left) passTurn(tx, target, before);
  return moved;
}

/** Counts an attempt even if the delivery was not claimed. */
function attemptedRow(before: DeliveryRow, { ends }: Move): DeliveryRow {
  if (ends === undefined || isHeld(before.state)) return before;
  return { ...before, attempt: before.attempt + 1, fence: before.fence + 1 };
}

/** Returns the delivery after the move, still at its old place. */
function movedRow(
  { now }: Transaction,
  { operation, place }: MoveContext,
  before: DeliveryRow,
  what: Move,
): DeliveryRow {
  const { to, lapseMs, receiver = before.receiver } = what;
  const deadline = what.deadline ?? before.deadline;
  const open = isOpen(to);
  const stays = to === before.state && what.receiver === undefined;
  const lapseAt = open ? soonest(deadline, lapseMs ? now + lapseMs : 0) : 0;
  const named = {
    ...before,
    maxAttempts: what.maxAttempts ?? before.maxAttempts,
    deadline,
    followers: what.followers ?? before.followers,
    envelope: operation.envelope?.id ?? before.envelope,
    lapseAt: stays && lapseMs === undefined ? before.lapseAt : lapseAt,
  };
  const readyAt = to === "scheduled" ? now + (what.delayMs ?? 0) : 0;
  if (stays) return what.delayMs === undefined ? named : { ...named, readyAt };
  return {
    ...named,
    state: to,
    receiver,
    leaseUntil: 0,
    holdUntil: 0,
    readyAt,
    settledAt: open ? 0 : (place?.storedAt ?? now),
    settledBy: place?.id ?? "",
  };
}

/** Returns whether the move puts the delivery into an inbox that it was not open in. */
function isNewInInbox(before: DeliveryRow, moved: DeliveryRow): boolean {
  return moved.receiver !== before.receiver || !isOpen(before.state);
}

/** In a new inbox it gets the last place, and is in turn if nothing of its task is open there. */
function placeInQueue(
  tx: Transaction,
  { workspace }: Target,
  before: DeliveryRow,
  moved: DeliveryRow,
): DeliveryRow {
  if (!isOpen(moved.state) || !isNewInInbox(before, moved)) return moved;
  const { receiver, task } = moved;
  const first = tx.sql.firstInQueue.get(workspace, receiver, task);
  const position = numberOf(tx.sql.lastPosition.get());
  const place = placeBehind(tx, { workspace, receiver, task, position });
  return { ...moved, place, inTurn: first === undefined };
}

function write(tx: Transaction, workspace: number, before: DeliveryRow, moved: DeliveryRow): void {
  tx.sql.move.run(
    stateNumber(moved.state),
    Number(moved.inTurn),
    moved.place,
    moved.attempt,
    moved.maxAttempts,
    moved.fence,
    moved.leaseUntil,
    moved.holdUntil,
    moved.readyAt,
    moved.deadline,
    moved.lapseAt,
    moved.settledAt,
    moved.envelope,
    moved.receiver,
    moved.settledBy,
    moved.followers,
    deliverySum(moved),
    workspace,
    before.id,
    stateNumber(before.state),
    before.fence,
  );
}
