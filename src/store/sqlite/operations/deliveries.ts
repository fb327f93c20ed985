/** Deliveries: the look-ups, the event each change leaves, and whose turn is next. */

import { deliveryOf } from "../../codecs.ts";
import type { DeliveryRow, EventKind } from "../../rows.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

export function findDelivery(
  sql: Statements,
  workspace: number,
  id: string,
): DeliveryRow | undefined {
  const row = sql.delivery.get(workspace, id);
  return row && deliveryOf(row);
}

export interface PositionedDelivery {
  readonly delivery: DeliveryRow;
  /** Grows with every delivery that was made. */
  readonly position: number;
}

/** A row of a statement that answers with the position after the columns. */
export function positionedDeliveryOf(row: unknown): PositionedDelivery {
  return { delivery: deliveryOf(row), position: (row as readonly number[]).at(-1) ?? 0 };
}

/** The order of an inbox. */
export function compareByPlace(a: DeliveryRow, b: DeliveryRow): number {
  return a.place - b.place || (a.id < b.id ? -1 : 1);
}

/** A delivery has ended or left: the next of its receiver and task can be claimed now. */
export function passTurn(
  tx: Transaction,
  {
    name,
    workspace,
  }: { readonly name: { readonly workspace: string }; readonly workspace: number },
  { receiver, task }: DeliveryRow,
): void {
  const { changes } = tx.sql.passTurn.run(workspace, receiver, task);
  if (changes > 0) tx.wake(name.workspace, receiver);
}

/** The last in line: behind all that is open of the receiver and task, whatever places they have. */
export function placeBehind(
  { sql }: Transaction,
  queue: {
    readonly workspace: number;
    readonly receiver: string;
    readonly task: string;
    /** The newest record's. */
    readonly position: number;
  },
): number {
  const { workspace, receiver, task, position } = queue;
  const last = scalarOf<number>(sql.lastInQueue.get(workspace, receiver, task));
  return last === undefined ? position : Math.max(position, last + 1);
}

const NONE = { task: "", id: "", envelope: "", attempt: 0 } as const;

/** Numbered by SQLite under the write lock: a reader with a cursor never skips one. */
export function recordEvent(
  tx: Transaction,
  workspace: number,
  event: { readonly kind: EventKind; readonly agent: string; readonly delivery?: DeliveryRow },
): void {
  const { task, id, envelope, attempt } = event.delivery ?? NONE;
  tx.sql.addEvent.run(workspace, tx.now, attempt, event.kind, event.agent, task, id, envelope);
}
