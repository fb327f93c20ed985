/** Settles a delivery: ends the holder's attempt and sets the state that the settlement specifies. */
import { stateNumber } from "../../codecs.ts";
import { type DeliveryRow, type EventKind, isOpen, soonest } from "../../rows.ts";
import { delayAfter, isUncountedAttempt, lapseAfter, stateAfter } from "../../settlement.ts";
import type { ChainPosition, SettleDelivery, Settlement, SettleOutcome } from "../../store.ts";
import { deliverySum } from "../row-sums.ts";
import type { Transaction } from "../transaction.ts";
import { append, refuseRecord, type Target } from "./append.ts";
import { claimNext } from "./claim.ts";
import { noteIfOpen, passTurn, recordEvent } from "./deliveries.ts";
import { closeBreaker } from "./entries.ts";
import { checkNewestLease, endAttempt } from "./lease.ts";

/**
 * Settles a delivery if the lease is current and the state allows it, then claims the next one if asked to.
 */
export function settleDelivery(tx: Transaction, operation: SettleDelivery): SettleOutcome {
  const { lease, memory, settlement, reason, next: wanted } = operation;
  const workspace = tx.workspace(operation.workspace);
  const hold = checkNewestLease(tx, workspace, lease);
  if (hold.kind !== "held") return hold;
  const held = hold.delivery;
  if (!operation.from.includes(held.state)) return { kind: "lease_lost", delivery: held };
  const refused = memory && refuseRecord(tx, workspace, memory);
  if (refused !== undefined) return refused;
  const target = { name: operation, workspace };
  const settledBy = memory && append(tx, target, memory).place;
  const delivery = finish(tx, target, { held, settlement, settledBy, reason });
  tx.wake(operation.workspace, delivery.sender);
  tx.wake(operation.workspace, delivery.receiver);
  const next = wanted && claimNext(tx, target, wanted);
  return { kind: "settled", delivery, ...(next && { next }) };
}

/** A checked attempt and how it ends. */
interface AttemptEnd {
  readonly held: DeliveryRow;
  readonly settlement: Settlement;
  /** The record that the settlement appended. */
  readonly settledBy: ChainPosition | undefined;
  readonly reason: string;
}

/** Writes the end of an attempt that was checked before. */
export function finish(tx: Transaction, target: Target, end: AttemptEnd): DeliveryRow {
  const { workspace } = target;
  const { held, settlement, settledBy } = end;
  const delivery = settledRow(tx, end);
  const { state, maxAttempts, readyAt, lapseAt, settledAt } = delivery;
  tx.sql.settle.run(
    stateNumber(state),
    maxAttempts,
    readyAt,
    lapseAt,
    settledAt,
    delivery.settledBy,
    deliverySum(delivery),
    workspace,
    held.id,
    held.fence,
  );
  noteIfOpen(tx, workspace, delivery);
  if (settlement.kind === "completed") closeBreaker(tx, workspace, held.receiver);
  else {
    const outcome = settlement.kind;
    endAttempt(tx, workspace, held, { outcome, reason: end.reason, at: settledBy?.storedAt });
  }
  const kind: EventKind = state === "dead" ? "dead" : settlement.kind;
  recordEvent(tx, workspace, { kind, agent: held.holder, delivery });
  if (!isOpen(state)) passTurn(tx, target, held);
  return delivery;
}

/** Returns the delivery after the settlement. */
function settledRow(
  { now }: Transaction,
  { held, settlement, settledBy }: AttemptEnd,
): DeliveryRow {
  const state = stateAfter(settlement);
  const open = isOpen(state);
  const delayMs = delayAfter(settlement);
  const lapseMs = lapseAfter(settlement);
  return {
    ...held,
    state,
    leaseUntil: 0,
    holdUntil: 0,
    maxAttempts: held.maxAttempts + (isUncountedAttempt(settlement) ? 1 : 0),
    readyAt: delayMs === undefined ? 0 : now + delayMs,
    lapseAt: open ? soonest(held.deadline, lapseMs === 0 ? 0 : now + lapseMs) : 0,
    settledAt: open ? 0 : (settledBy?.storedAt ?? now),
    settledBy: settledBy?.id ?? "",
  };
}
