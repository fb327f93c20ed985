/**
 * Row sums: a checksum in every row whose columns neither a hash nor an index covers, so that `verify` can
 * detect a changed bit. Memories, envelopes, agents and relations are covered by the chain. SQLite does not
 * check its pages; PostgreSQL does (data checksums), so its tables have no such column.
 *
 * A sum protects against damage, not against an attacker, who can compute it as well. Any change of a single
 * character or number changes the sum, because every step of the hash is a bijection. It is computed here
 * and not by a native hash: for rows this short the call alone would cost more (0.2 µs for each event of a row).
 */
import { crc32 } from "node:zlib";
import { type AttemptRow, type DeliveryRow, type EntryRow, isOpen } from "../rows.ts";
import type { EventGroup } from "./event-groups.ts";

/** A column as SQLite returns it. */
export type ColumnValue = string | number | bigint | null | Uint8Array;

const PRIME = 0x0100_0193; // FNV-1a
const START = 0x811c_9dc5;
const WORD = 2 ** 32;
/** Follows every text; no character has this number. */
const END_OF_TEXT = 0x1_0000;

/** Returns a checksum of the values in their order, as a signed 32-bit integer. */
export function rowSum(values: readonly ColumnValue[]): number {
  let sum = START;
  for (const value of values) {
    if (typeof value === "string") sum = addText(sum, value);
    else if (typeof value === "number") sum = addNumber(sum, value);
    else if (value instanceof Uint8Array) sum = addNumber(sum, crc32(value));
    else sum = addText(sum, String(value));
  }
  return sum | 0;
}

function addText(sum: number, text: string): number {
  let next = sum;
  for (let i = 0; i < text.length; i++) next = Math.imul(next ^ text.charCodeAt(i), PRIME);
  return Math.imul(next ^ END_OF_TEXT, PRIME);
}

function addNumber(sum: number, value: number): number {
  const low = Math.imul(sum ^ (value | 0), PRIME);
  return Math.imul(low ^ Math.floor(value / WORD), PRIME);
}

/**
 * Returns the sum of a delivery: of the columns that no record, attempt or index determines. The turn counts
 * from the settlement on. A lease is left out, so that renewing it changes one column: while the delivery is
 * held, an index has the same time, and afterwards it is 0.
 */
export function deliverySum(row: DeliveryRow): number {
  const { place, maxAttempts, holdUntil, readyAt, seenAt, settledAt, followers } = row;
  const turn = isOpen(row.state) ? 0 : Number(row.inTurn);
  const { holder, instance, process } = row;
  const counted = [place, maxAttempts, holdUntil, readyAt, seenAt, settledAt, turn];
  return rowSum([...counted, holder, instance, process, followers]);
}

/** Returns the sum of an ended attempt. */
export function attemptSum(workspace: number, row: AttemptRow): number {
  const { delivery, attempt, holder, instance, endedAt, outcome, reason } = row;
  return rowSum([workspace, delivery, attempt, holder, instance, endedAt, outcome, reason]);
}

/** Returns the sum of a row of events. */
export function eventGroupSum(workspace: number, { last, at, count, text }: EventGroup): number {
  return rowSum([workspace, last, at, count, text]);
}

/** Returns the sum of an entry: of what its digest does not cover. */
export function entrySum(
  workspace: number,
  { kind, name, at }: Pick<EntryRow, "kind" | "name" | "at">,
): number {
  return rowSum([workspace, kind, name, at]);
}

/** The progress of a model. */
export interface ModelColumns {
  readonly name: string;
  readonly dimensions: number;
  readonly pos: number;
}

/** Returns the sum of a model. */
export const modelSum = (workspace: number, { name, dimensions, pos }: ModelColumns): number =>
  rowSum([workspace, name, dimensions, pos]);

/** Returns the sum of a vector or of its signature. */
export const vectorSum = (model: number, pos: number, bytes: Uint8Array): number =>
  rowSum([model, pos, bytes]);
