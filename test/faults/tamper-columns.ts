/**
 * Which columns `verify` answers for. Every column that is not listed here must be: change it in any
 * row, and a problem names the record. A column added later is therefore checked from its first
 * day, or the test fails until somebody says here why it cannot be.
 */
import { DELIVERY_STATES, type DeliveryState, isOpen } from "../../src/store/rows.ts";
import type { StoreRow } from "../support/store-dump.ts";

/** No record says what it should be: by design. A change must not raise a false alarm either. */
export interface Uncheckable {
  readonly why: string;
  /** The rows that is true of, out of all rows of the table: the others must be found. */
  readonly isUnknown: (row: StoreRow, rows: readonly StoreRow[]) => boolean;
}

/**
 * States that no record tells apart: a retry falls due without one, a question that was answered
 * stands behind an open one, and what nobody took in time leaves as little as what failed too often.
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

/** Giving work back, or losing it, leaves no record. */
const isUnrecordedTry = (row: StoreRow): boolean =>
  row["outcome"] === "released" || row["outcome"] === "expired";

const uncheckable = (why: string, isUnknown: Uncheckable["isUnknown"] = () => true) => ({
  why,
  isUnknown,
});

export const UNCHECKABLE: Readonly<Record<string, Uncheckable>> = {
  "migrations.version": uncheckable("the version of the schema: checked when the store is opened"),
  "migrations.name": uncheckable("the name of a schema step: checked when the store is opened"),
  "migrations.at": uncheckable("for people who look into the file"),

  "workspaces.key": uncheckable(
    "a workspace whose rows were all cut off looks like one that nobody has written to yet",
  ),
  "workspaces.name": uncheckable(
    "under the old name it looks like a new workspace; under the new one it is found (tested)",
  ),

  "memories.pos": uncheckable(
    "a row number: what refers to it (relations, envelopes) is found broken (tested), a record nobody refers to has nothing that could disagree",
  ),
  "relations.n": uncheckable(
    "only the order counts, which one more does not change at a record's last relation",
    (row, rows) =>
      rows.every(
        (each) => each["source"] !== row["source"] || Number(each["n"]) <= Number(row["n"]),
      ),
  ),

  "deliveries.instance": uncheckable(
    "an offer that was claimed and not accepted yet leaves no record",
    (row) => stateOf(row) === "claimed",
  ),
  "deliveries.state": uncheckable(
    "the next state looks alike (every other one is tested)",
    (row) => LOOKS_ALIKE[stateOf(row)]?.includes(nextState(row)) === true,
  ),
  "deliveries.turn": uncheckable(
    "what has ended is nobody's turn any more",
    (row) => !isOpen(stateOf(row)),
  ),
  "deliveries.process": uncheckable("a lease leaves no record"),
  "deliveries.pos": uncheckable("a row number nothing refers to"),
  "deliveries.place": uncheckable("the order of an inbox, which no record speaks of"),
  "deliveries.max_attempts": uncheckable("policy of whoever sent it; on no record"),
  "deliveries.lease_until": uncheckable("changes with every heartbeat; a lease leaves no record"),
  "deliveries.hold_until": uncheckable(
    "how long it can be held is policy; a lease leaves no record",
  ),
  "deliveries.lapse_at": uncheckable("when somebody has to decide is policy; on no record"),
  "deliveries.ready_at": uncheckable("when a retry falls due is chance (jitter)"),
  "deliveries.seen_at": uncheckable("being shown leaves no record"),

  "attempts.key": uncheckable("a row number nothing refers to"),

  "entries.workspace": uncheckable(
    "operational: one that is gone looks like one nobody has put yet",
  ),
  "entries.at": uncheckable("for people who look at it; nothing is decided by it"),

  ...Object.fromEntries(
    ["ended_at", "outcome", "holder", "instance", "reason"].map((column) => [
      `attempts.${column}`,
      uncheckable("work given back or lost leaves no record", isUnrecordedTry),
    ]),
  ),

  ...Object.fromEntries(
    ["number", "workspace", "at", "attempt", "kind", "agent", "task", "delivery", "envelope"].map(
      (column) => [
        `events.${column}`,
        uncheckable("the operational log: prunable, and no knowledge lives in it alone"),
      ],
    ),
  ),
};

/** Where a problem about a column is named as something else than the column. */
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
  "deliveries.turn": "inTurn",
  "chains.seq": "seq",
  "chains.link": "link",
};
