/**
 * What a group of operations consists of, as the database's types: one definition for the types
 * and for writing their values. Rows come as arrays of composite values, which are parsed once;
 * the same as JSON took a third of a write's time.
 */

const PARTS = {
  /** A lease that must be good, and the states (as bits) its delivery may be in. */
  hold: {
    i: "int",
    delivery: "text",
    fence: "int",
    envelope: "text",
    newest: "boolean",
    states: "int",
  },
  /** A record to append; its text is in the bytes beside. */
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
  mention: { i: "int", ord: "int", record: "text", id: "text" },
  relation: {
    ord: "int",
    n: "int",
    kind: "text",
    target: "text",
    valid_from: "bigint",
    valid_until: "bigint",
  },
  /** An envelope has the position of its record; its text is in the bytes beside. */
  envelope: {
    i: "int",
    ord: "int",
    id: "text",
    task: "text",
    sender: "text",
    at: "int",
    bytes: "int",
  },
  /** An envelope at one of its receivers, and what the sender believes about work that is open. */
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
    /** The only receiver: what is open there, and its breaker, are minded. */
    single: "boolean",
    breaker: "int",
    settles: "text",
    extend: "text",
    extended: "text",
    held: "boolean",
  },
  parent: { i: "int", n: "int", envelope: "text" },
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
    /** By handing on: its receiver knows. */
    handed: "boolean",
  },
  /** What is seen (was, fence, envelope, lease, lapsed, followed), and what becomes of it. */
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
  /** A branch as its writer saw it. */
  tip: { i: "int", branch: "text", seq: "bigint" },
  accept: { i: "int", ord: "int", record: "text", delivery: "text", fence: "int", lease: "bigint" },
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
  renew: { i: "int", delivery: "text", fence: "int", lease: "bigint" },
  session: { agent: "text", instance: "text", lease: "bigint" },
  author: { i: "int", agent: "text", key: "text" },
  /** What to claim, with the key its receiver acts with. */
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

export type PartName = keyof typeof PARTS;
export type Part<Name extends PartName> = {
  readonly [Column in keyof (typeof PARTS)[Name]]: ValueOf<(typeof PARTS)[Name][Column]> | null;
};

export const PART_NAMES = Object.keys(PARTS) as PartName[];

export const TYPES = Object.entries(PARTS)
  .map(([name, columns]) => {
    const listed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    return `create type ${typeName(name)} as (${listed.join(", ")});`;
  })
  .join("\n");

function typeName(part: string): string {
  return `${part}_part`;
}

/** The arguments of a function that takes every part: `p_holds hold_part[], …`. */
export const PART_ARGUMENTS = PART_NAMES.map((name) => `p_${name}s ${typeName(name)}[]`).join(", ");
export const PART_TYPES = PART_NAMES.map((name) => `${typeName(name)}[]`).join(", ");

/** Rows as the text of an array of composite values; null where there are none. */
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

/** A field of a composite value inside an array's quotes: quoted, and escaped for both. */
function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "t" : "f";
  if (typeof value === "number") return String(value);
  const text = value as string;
  if (PLAIN.test(text)) return text;
  return `\\"${text.replaceAll("\\", "\\\\\\\\").replaceAll('"', '\\\\\\"')}\\"`;
}
