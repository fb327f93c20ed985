/** Deliveries: the look-ups by id, and the event each change leaves. */
import type { DeliveryRow, EnvelopeRow, EventKind } from "../rows.ts";
import { deliveryOf, envelopeOf } from "./codecs.ts";
import type { Statements } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function findDelivery(
  sql: Statements,
  workspace: number,
  id: string,
): DeliveryRow | undefined {
  const row = sql.delivery.get(id, workspace);
  return row && deliveryOf(row);
}

export function readEnvelope(sql: Statements, workspace: number, id: string): EnvelopeRow {
  return envelopeOf(sql.envelope.get(id, workspace));
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
