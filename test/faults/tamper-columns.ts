/**
 * The columns that `verify` cannot check, with the reasons. A change to any other column, in any
 * row, must be reported as a problem that names the record. A column that is added later is
 * therefore checked from the start, or the test fails until it is listed here.
 */
import { DELIVERY_STATES, type DeliveryState, isHeld } from "../../src/store/rows.ts";
import type { StoreRow } from "../support/store-dump.ts";

/**
 * A column whose value no record determines, by design. A change must not raise a false alarm
 * either.
 */
export interface Uncheckable {
  readonly why: string;
  /**
   * Selects the rows for which that is true, out of all rows of the table; changes in other rows
   * must be reported.
   */
  readonly isUnknown: (row: StoreRow, rows: readonly StoreRow[]) => boolean;
}

/**
 * States that no record distinguishes: a retry becomes due without one, an answered question may
 * precede an open one, and a delivery that was not accepted in time leaves the same records as one
 * that failed too often.
 */
export const LOOKS_ALIKE: Readonly<Record<string, readonly DeliveryState[]>> = {
  scheduled: ["ready", "waiting"],
  ready: ["scheduled", "waiting"],
  waiting: ["scheduled", "ready"],
  dead: ["expired"],
  expired: ["dead"],
} satisfies Partial<Record<DeliveryState, readonly DeliveryState[]>>;

const stateOf = (row: StoreRow): DeliveryState =>
  DELIVERY_STATES[Number(row["state"])] as DeliveryState;
const nextState = (row: StoreRow): DeliveryState =>
  DELIVERY_STATES[Number(row["state"]) + 1] as DeliveryState;

const uncheckable = (why: string, isUnknown: Uncheckable["isUnknown"] = () => true) => ({
  why,
  isUnknown,
});

export const UNCHECKABLE: Readonly<Record<string, Uncheckable>> = {
  "migrations.version": uncheckable("the version of the schema: checked when the store is opened"),
  "migrations.name": uncheckable("the name of a schema step: checked when the store is opened"),
  "migrations.at": uncheckable("for people who read the file"),

  "memories.pos": uncheckable(
    "a row number: broken references to it (relations, envelopes) are reported (tested); without references, nothing can disagree",
  ),

  "deliveries.state": uncheckable(
    "no record distinguishes the next state (every other one is tested)",
    (row) => LOOKS_ALIKE[stateOf(row)]?.includes(nextState(row)) === true,
  ),
  "deliveries.pos": uncheckable("a row number nothing refers to"),
  "deliveries.lease_until": uncheckable(
    "changes with every heartbeat; a lease leaves no record",
    (row) => isHeld(stateOf(row)),
  ),
  "deliveries.lapse_at": uncheckable("the time of the next decision is policy; on no record"),

  "attempts.key": uncheckable("a row number nothing refers to"),
};

/** The field that a problem with a column names. */
export const FIELD_NAMES: Readonly<Record<string, string>> = {
  "memories.seq": "seq",
  "memories.stored_at": "link",
  "memories.id": "id",
  "memories.link": "link",
  "memories.signature": "signature",
  "memories.text": "link",
  "envelopes.task": "task",
  "envelopes.sender": "sender",
  "envelopes.text": "text",
  "deliveries.envelope": "envelope",
  "deliveries.task": "task",
  "deliveries.sender": "sender",
  "deliveries.receiver": "receiver",
  "chains.seq": "seq",
  "chains.link": "link",
};
