/** Settling: the holder's part ends, and the delivery gets the state that the settlement says. */
import { assertNever } from "../../errors.ts";
import { stateNumber } from "../codecs.ts";
import type { DeliveryRow, DeliveryState, EventKind } from "../rows.ts";
import type { Place, SettleDelivery, Settlement, SettleOutcome } from "../store.ts";
import { append, refuseRecord, type Target } from "./append.ts";
import { passTurn, record } from "./deliveries.ts";
import { endAttempt, holdingNewest } from "./lease.ts";
import type { Transaction } from "./transaction.ts";

export function settleDelivery(tx: Transaction, operation: SettleDelivery): SettleOutcome {
  const { lease, memory, settlement, reason } = operation;
  const workspace = tx.workspace(operation.workspace);
  const hold = holdingNewest(tx, workspace, lease);
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
  return { kind: "settled", delivery };
}

interface End {
  readonly held: DeliveryRow;
  readonly settlement: Settlement;
  /** The record the settlement left on the chain. */
  readonly settledBy: Place | undefined;
  readonly reason: string;
}

/** Writes the end of a hold that was checked before. */
export function finish(tx: Transaction, { name, workspace }: Target, end: End): DeliveryRow {
  const { held, settlement, settledBy } = end;
  const next = stateAfter(settlement);
  const open = next === "ready" || next === "scheduled";
  const delivery: DeliveryRow = {
    ...held,
    state: next,
    leaseUntil: 0,
    readyAt: "delayMs" in settlement ? tx.now + settlement.delayMs : 0,
    settledAt: open ? 0 : (settledBy?.storedAt ?? tx.now),
    settledBy: settledBy?.id ?? "",
  };
  tx.sql.settle.run(
    stateNumber(next),
    delivery.readyAt,
    delivery.settledAt,
    delivery.settledBy,
    workspace,
    held.id,
    held.fence,
  );
  if (settlement.kind !== "completed") {
    const outcome = settlement.kind;
    endAttempt(tx, workspace, held, { outcome, reason: end.reason, at: settledBy?.storedAt });
  }
  const kind: EventKind = next === "dead" ? "dead" : settlement.kind;
  record(tx, workspace, { kind, agent: held.holder, delivery });
  if (!open && passTurn(tx, workspace, held)) tx.wake(name.workspace, held.receiver);
  return delivery;
}

function stateAfter(settlement: Settlement): DeliveryState {
  switch (settlement.kind) {
    case "completed":
    case "declined":
      return settlement.kind;
    case "failed":
    case "released":
      return settlement.becomes;
    default:
      return assertNever(settlement);
  }
}
