/**
 * The parts that a group of operations consists of, as composite types of the database: one definition for
 * creating the types and for encoding their values. Rows are sent as arrays of composite values, which are
 * parsed once; the same rows as JSON took a third of a write's time.
 *
 * Common columns: `i` is the number of the operation, `ord` that of the record, `n` that of the row.
 */

const PARTS = {
  /** A lease that must be current, and the states (as bits) in which its delivery may be. */
  hold: {
    i: "int",
    delivery: "text",
    fence: "int",
    envelope: "text",
    newest: "boolean",
    states: "int",
  },
  /** A record to append. Its text is in the block of bytes, from `at` on. */
  record: {
    i: "int",
    ord: "int",
    branch: "text",
    genesis: "text",
    id: "text",
    twice: "boolean",
    agent: "text",
    key: "text",
    digest: "text",
    signature: "text",
    at: "int",
    bytes: "int",
  },
  /** A memory that a record refers to, and that must exist. */
  mention: { i: "int", ord: "int", record: "text", id: "text" },
  /** An edge of a record. */
  relation: {
    ord: "int",
    n: "int",
    kind: "text",
    target: "text",
    valid_from: "bigint",
    valid_until: "bigint",
  },
  /** An envelope; it has the position of its record. Its text is in the block of bytes. */
  envelope: {
    i: "int",
    ord: "int",
    id: "text",
    task: "text",
    sender: "text",
    at: "int",
    bytes: "int",
  },
  /** An envelope at one of its receivers, and what the sender has read about open work there. */
  post: {
    i: "int",
    n: "int",
    ord: "int",
    author: "text",
    delivery: "text",
    envelope: "text",
    task: "text",
    sender: "text",
    receiver: "text",
    parent: "text",
    attempts: "int",
    ahead: "bigint",
    state: "smallint",
    delay: "bigint",
    deadline: "bigint",
    lapse: "bigint",
    reason: "text",
    /** Whether it is the only receiver: only then open work and the breaker are checked. */
    single: "boolean",
    breaker: "int",
    settles: "text",
    extend: "text",
    extended: "text",
    held: "boolean",
  },
  /** An envelope that must exist, because a new one continues from it. */
  parent: { i: "int", n: "int", envelope: "text" },
  /** A delivery to settle. */
  settle: {
    i: "int",
    n: "int",
    ord: "int",
    record: "text",
    delivery: "text",
    fence: "int",
    state: "smallint",
    free: "boolean",
    delay: "bigint",
    lapse: "bigint",
    outcome: "text",
    reason: "text",
    /** Settled by handing the task on: its receiver is the caller and needs no wake-up. */
    handed: "boolean",
  },
  /** The expected state (was, fence, envelope, lease, lapsed, followed) and the changes of a delivery. */
  move: {
    i: "int",
    n: "int",
    ord: "int",
    record: "text",
    agent: "text",
    event: "text",
    delivery: "text",
    was: "smallint",
    fence: "int",
    envelope: "text",
    lease: "bigint",
    lapsed: "bigint",
    followed: "text",
    state: "smallint",
    receiver: "text",
    delay: "bigint",
    lapse: "bigint",
    attempts: "int",
    deadline: "bigint",
    followers: "text",
    goes_on: "text",
    outcome: "text",
    reason: "text",
  },
  /** An entry to write; `value` is null to delete it. */
  put: {
    i: "int",
    kind: "text",
    name: "text",
    value: "text",
    based_on: "int",
    digest: "text",
    event: "text",
    agent: "text",
  },
  /** The last record of a branch, as its writer has read it. */
  tip: { i: "int", branch: "text", seq: "bigint" },
  /** A claimed delivery to accept. */
  accept: { i: "int", ord: "int", record: "text", delivery: "text", fence: "int", lease: "bigint" },
  /** A reserved delivery to claim and accept. */
  take: {
    i: "int",
    ord: "int",
    record: "text",
    delivery: "text",
    fence: "int",
    envelope: "text",
    receiver: "text",
    instance: "text",
    process: "text",
    lease: "bigint",
    hold: "bigint",
  },
  /** A lease to renew. */
  renew: { i: "int", delivery: "text", fence: "int", lease: "bigint" },
  /** A session of which all leases are renewed. */
  session: { agent: "text", instance: "text", lease: "bigint" },
  /** An agent that acts without writing a record, and its key. */
  author: { i: "int", agent: "text", key: "text" },
  /** Deliveries to claim, and the receiver's key. */
  claim: {
    n: "int",
    receiver: "text",
    key: "text",
    instance: "text",
    process: "text",
    lease: "bigint",
    hold: "bigint",
    most: "int",
    task: "text",
    delivery: "text",
  },
} as const satisfies Record<
  string,
  Record<string, "int" | "bigint" | "smallint" | "text" | "boolean">
>;

type Columns = Record<string, "int" | "bigint" | "smallint" | "text" | "boolean">;
type ValueOf<Type> = Type extends "text" ? string : Type extends "boolean" ? boolean : number;

/** Name of a part. */
export type PartName = keyof typeof PARTS;
/** A row of a part. */
export type Part<Name extends PartName> = {
  readonly [Column in keyof (typeof PARTS)[Name]]: ValueOf<(typeof PARTS)[Name][Column]> | null;
};

/** Names of all parts, in the order of the function's arguments. */
export const PART_NAMES = Object.keys(PARTS) as PartName[];

/** SQL that creates the types of all parts. */
export const TYPES = Object.entries(PARTS)
  .map(([name, columns]) => {
    const listed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    return `create type ${typeName(name)} as (${listed.join(", ")});`;
  })
  .join("\n");

function typeName(part: string): string {
  return `${part}_part`;
}

/** Arguments of a function that takes every part: `p_holds hold_part[], …`. */
export const PART_ARGUMENTS = PART_NAMES.map((name) => `p_${name}s ${typeName(name)}[]`).join(", ");
/** Their types only, for the function's signature. */
export const PART_TYPES = PART_NAMES.map((name) => `${typeName(name)}[]`).join(", ");

/** Encodes rows as the text of an array of composite values; null if there are none. */
export function encodeParts<Name extends PartName>(
  name: Name,
  rows: readonly Part<Name>[] | undefined,
): string | null {
  if (rows === undefined) return null;
  const columns = Object.keys(PARTS[name] as Columns);
  const elements = rows.map((row) => {
    const fields = columns.map((column) => field((row as Record<string, unknown>)[column]));
    return `"(${fields.join(",")})"`;
  });
  return `{${elements.join(",")}}`;
}

const PLAIN = /^[\w.:/#@ -]+$/;

/** Encodes a field of a composite value inside an array's quotes: quoted, and escaped for both. */
function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "t" : "f";
  if (typeof value === "number") return String(value);
  const text = value as string;
  if (PLAIN.test(text)) return text;
  return `\\"${text.replaceAll("\\", "\\\\\\\\").replaceAll('"', '\\\\\\"')}\\"`;
}
