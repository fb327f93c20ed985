/**
 * Shared delivery helpers: look-ups, events, inbox order, and making the next delivery of a
 * task claimable (one per receiver and task at a time).
 */

import { deliveryOf } from "../../codecs.ts";
import { type DeliveryRow, type EventKind, isOpen } from "../../rows.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

/** Returns a delivery by id. */
export function findDelivery(
  sql: Statements,
  workspace: number,
  id: string,
): DeliveryRow | undefined {
  const row = sql.delivery.get(workspace, id);
  return row && deliveryOf(row);
}

/** A delivery with its position. */
export interface PositionedDelivery {
  readonly delivery: DeliveryRow;
  /** Row number: increases with every delivery created. */
  readonly position: number;
}

/** Converts a row with the position after the delivery's columns. */
export function positionedDeliveryOf(row: unknown): PositionedDelivery {
  return { delivery: deliveryOf(row), position: (row as readonly number[]).at(-1) ?? 0 };
}

/** Compares by inbox order: place, then id. */
export function compareByPlace(a: DeliveryRow, b: DeliveryRow): number {
  return a.place - b.place || (a.id < b.id ? -1 : 1);
}

/** Called after a delivery was written: an open one can be claimed from now on, or once it is due. */
export function noteIfOpen(
  tx: Transaction,
  workspace: number,
  { receiver, state }: Pick<DeliveryRow, "receiver" | "state">,
): void {
  if (!isOpen(state)) return;
  if (state === "scheduled") tx.scheduled(workspace);
  tx.markMaybeReady(workspace, receiver);
}

/** Called after a delivery has ended or left: makes the next one of its receiver and task claimable. */
export function passTurn(
  tx: Transaction,
  {
    name,
    workspace,
  }: { readonly name: { readonly workspace: string }; readonly workspace: number },
  { receiver, task }: DeliveryRow,
): void {
  const { changes } = tx.sql.passTurn.run(workspace, receiver, task);
  if (changes === 0) return;
  tx.markMaybeReady(workspace, receiver);
  tx.wake(name.workspace, receiver);
}

/** Returns a place behind every open delivery of the receiver and task, whatever their places are. */
export function placeBehind(
  { sql }: Transaction,
  queue: {
    readonly workspace: number;
    readonly receiver: string;
    readonly task: string;
    /** Position of the newest record. */
    readonly position: number;
  },
): number {
  const { workspace, receiver, task, position } = queue;
  const last = scalarOf<number>(sql.lastInQueue.get(workspace, receiver, task));
  return last === undefined ? position : Math.max(position, last + 1);
}

const NONE = { task: "", id: "", envelope: "", attempt: 0 } as const;

/** Adds an event. It is numbered under the write lock, so that a cursor never skips one. */
export function recordEvent(
  tx: Transaction,
  workspace: number,
  event: { readonly kind: EventKind; readonly agent: string; readonly delivery?: DeliveryRow },
): void {
  const { kind, agent } = event;
  const { task, id: delivery, envelope, attempt } = event.delivery ?? NONE;
  tx.record(workspace, { attempt, kind, agent, task, delivery, envelope });
}
