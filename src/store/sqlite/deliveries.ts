/** Deliveries: the look-ups, the event each change leaves, and whose turn is next. */

import { deliveryOf, envelopeOf, stateNumber } from "../codecs.ts";
import { type DeliveryRow, type EnvelopeRow, type EventKind, OPEN_STATES } from "../rows.ts";
import type { ListDeliveries } from "../store.ts";
import type { Statements } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function findDelivery(
  sql: Statements,
  workspace: number,
  id: string,
): DeliveryRow | undefined {
  const row = sql.delivery.get(workspace, id);
  return row && deliveryOf(row);
}

/** Open work of a receiver, in inbox order; reads no more of it than it answers with. */
export function openDeliveries(
  sql: Statements,
  workspace: number,
  which: Omit<ListDeliveries, "workspace" | "states"> & Partial<Pick<ListDeliveries, "states">>,
): DeliveryRow[] {
  const { receiver, task, limit, after = 0, states = OPEN_STATES } = which;
  const bits = states.reduce((sum, state) => sum | (1 << stateNumber(state)), 0);
  const rows =
    task === undefined
      ? sql.openDeliveries.all(workspace, receiver, after, bits, limit)
      : sql.openOfTask.all(workspace, receiver, task, after, bits, limit);
  return rows.map(deliveryOf);
}

export function readEnvelope(sql: Statements, workspace: number, id: string): EnvelopeRow {
  return envelopeOf(sql.envelope.get(workspace, id));
}

/** A delivery has ended: the next of its receiver and task can be claimed now, if there is one. */
export function passTurn(
  tx: Transaction,
  workspace: number,
  { receiver, task }: DeliveryRow,
): boolean {
  return tx.sql.passTurn.run(workspace, receiver, task).changes > 0;
}

/** Numbered by SQLite under the write lock: a reader with a cursor never skips one. */
export function record(
  tx: Transaction,
  workspace: number,
  event: { readonly kind: EventKind; readonly agent: string; readonly delivery: DeliveryRow },
): void {
  const { delivery } = event;
  tx.sql.addEvent.run(
    workspace,
    tx.now,
    delivery.attempt,
    event.kind,
    event.agent,
    delivery.task,
    delivery.id,
    delivery.envelope,
  );
}
