/**
 * Looking at deliveries without taking them: inboxes, what stands still, and how much is open. Each
 * reads no more than it answers with, from an index that has them in order.
 */

import { deliveryOf, stateNumber } from "../../codecs.ts";
import type { DeliveryRow } from "../../rows.ts";
import type { ListDeliveries, ListParked } from "../../store.ts";
import { count } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import { inPlace } from "./deliveries.ts";

/** Before every delivery there is. */
const FIRST = { place: Number.MIN_SAFE_INTEGER, id: "" };

/** Open work of some inboxes, in inbox order. */
export function openDeliveries(
  sql: Statements,
  workspace: number,
  operation: ListDeliveries,
): DeliveryRow[] {
  const { task, limit, after: { place, id } = FIRST } = operation;
  const bits = operation.states.reduce((sum, state) => sum | (1 << stateNumber(state)), 0);
  const lists = [...new Set(operation.receivers)].map((receiver) =>
    task === undefined
      ? sql.openDeliveries.all(workspace, receiver, place, id, bits, limit)
      : sql.openOfTask.all(workspace, receiver, task, place, id, bits, limit),
  );
  return firstOf(lists, limit);
}

/** The first of several lists that are in order, each of them as long as the answer at most. */
export function firstOf(lists: readonly (readonly unknown[])[], limit: number): DeliveryRow[] {
  const [only, ...others] = lists.filter((list) => list.length > 0);
  if (only === undefined) return [];
  if (others.length === 0) return only.map(deliveryOf);
  return lists.flat().map(deliveryOf).sort(inPlace).slice(0, limit);
}

/** Of the filters none has an index: what is parked is looked through until there are enough. */
export function parkedDeliveries(
  sql: Statements,
  workspace: number,
  operation: ListParked,
): DeliveryRow[] {
  const { state, limit, after: { place, id } = FIRST } = operation;
  const { sender = null, receiver = null, task = null } = operation;
  const wanted = [sender, receiver, task];
  return sql.parkedDeliveries
    .all(workspace, stateNumber(state), place, id, ...wanted, limit)
    .map(deliveryOf);
}

export function countOpen(
  sql: Statements,
  workspace: number,
  inbox: { readonly receiver: string; readonly most: number },
): number {
  return count(sql.countOpen.get(workspace, inbox.receiver, inbox.most));
}
