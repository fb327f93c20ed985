/** Deliveries as rows: the codec, the look-ups by id, and the event each change leaves. */
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type EnvelopeRow,
  type EventKind,
} from "../rows.ts";
import type { Statements } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function deliveryOf(row: unknown): DeliveryRow {
  const raw = row as Omit<DeliveryRow, "state"> & { readonly state: number };
  const state = DELIVERY_STATES[raw.state];
  if (state === undefined) throw new Error(`delivery ${raw.id} has the unknown state ${raw.state}`);
  return { ...raw, state };
}

export const stateNumber = (state: DeliveryState): number => DELIVERY_STATES.indexOf(state);

export function findDelivery(
  sql: Statements,
  workspace: number,
  id: string,
): DeliveryRow | undefined {
  const row = sql.delivery.get(id, workspace);
  return row === undefined ? undefined : deliveryOf(row);
}

export function envelopeOf(sql: Statements, workspace: number, id: string): EnvelopeRow {
  return sql.envelope.get(id, workspace) as unknown as EnvelopeRow;
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
