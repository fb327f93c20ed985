/**
 * Lists deliveries without claiming them: inboxes, dead letters and open questions, counts, and all
 * deliveries. Each reads its rows in order from an index, and no more than it may return or visit.
 */

import { deliveryOf, stateNumber } from "../../codecs.ts";
import { DELIVERY_STATES, type DeliveryRow, type DeliveryState } from "../../rows.ts";
import type { BrowseDeliveries, DeliveryPage, ListDeliveries, ListParked } from "../../store.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import { compareByPlace } from "./deliveries.ts";
import { withEnvelope } from "./envelopes.ts";

/** Sorts before every delivery. */
const START_CURSOR = { place: Number.MIN_SAFE_INTEGER, id: "" };
/** Sorts after every id. */
const MAX_ID = "\u{10ffff}";

/** Returns one bit per state: 1 << state. */
const bitsOf = (states: readonly DeliveryState[]): number =>
  states.reduce((sum, state) => sum | (1 << stateNumber(state)), 0);

/** Returns the open deliveries of the inboxes, in inbox order. */
export function openDeliveries(
  sql: Statements,
  workspace: number,
  operation: ListDeliveries,
): DeliveryRow[] {
  const { task, limit, after: { place, id } = START_CURSOR } = operation;
  const bits = bitsOf(operation.states);
  const lists = [...new Set(operation.receivers)].map((receiver) =>
    task === undefined
      ? sql.openDeliveries.all(workspace, receiver, place, id, bits, limit)
      : sql.openOfTask.all(workspace, receiver, task, place, id, bits, limit),
  );
  return mergeInOrder(lists, limit);
}

/** Merges sorted lists, each of at most `limit` rows, and returns the first `limit` rows. */
export function mergeInOrder(lists: readonly (readonly unknown[])[], limit: number): DeliveryRow[] {
  const [only, ...others] = lists.filter((list) => list.length > 0);
  if (only === undefined) return [];
  if (others.length === 0) return only.map(deliveryOf);
  return lists.flat().map(deliveryOf).sort(compareByPlace).slice(0, limit);
}

/** Returns parked deliveries. No index covers the filters, so rows are read until there are enough. */
export function parkedDeliveries(
  sql: Statements,
  workspace: number,
  operation: ListParked,
): DeliveryRow[] {
  const { state, limit, after: { place, id } = START_CURSOR } = operation;
  const { sender = null, receiver = null, task = null } = operation;
  const wanted = [sender, receiver, task];
  return sql.parkedDeliveries
    .all(workspace, stateNumber(state), place, id, ...wanted, limit)
    .map(deliveryOf);
}

/**
 * Returns a page of all deliveries. The last id it may read is determined first, so that an id added
 * meanwhile by another process does not move a row from one page to the next.
 */
export function browseDeliveries(
  sql: Statements,
  workspace: number,
  operation: BrowseDeliveries,
): DeliveryPage {
  const { before = MAX_ID, limit, visits, states = DELIVERY_STATES } = operation;
  const { sender = null, receiver = null, task = null } = operation;
  const { sentAfter = Number.MIN_SAFE_INTEGER, sentBefore = Number.MAX_SAFE_INTEGER } = operation;
  const lowest = scalarOf<string>(sql.nthBelow.get(workspace, before, visits));
  const wanted = [bitsOf(states), sender, receiver, task, sentAfter, sentBefore];
  const found = sql.browseDeliveries
    .all(workspace, before, lowest ?? "", ...wanted, limit)
    .map(deliveryOf);
  const rows = found.map((delivery) => withEnvelope(sql, workspace, delivery));
  const next = found.length === limit ? found.at(-1)?.id : lowest;
  const isMore = next !== undefined && sql.nthBelow.get(workspace, next, 1) !== undefined;
  return isMore ? { rows, next } : { rows };
}

/** Counts the open deliveries of an inbox, up to `most`. */
export function countOpen(
  sql: Statements,
  workspace: number,
  inbox: { readonly receiver: string; readonly most: number },
): number {
  return numberOf(sql.countOpen.get(workspace, inbox.receiver, inbox.most));
}
