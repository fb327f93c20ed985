/**
 * Converts database rows to the row types of the store interface. Statements return arrays, because an object
 * of 27 columns costs twice as much to create. The column list of each codec is right above it, in the same
 * order.
 */
import { BatonError } from "../base/errors.ts";
import {
  type AgentRow,
  type AttemptRow,
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type EntryRow,
  type EnvelopeRow,
  type EventRow,
  type MemoryRow,
  type RelationEdge,
} from "./rows.ts";

/** A row as a statement returns it: an array of columns. */
export type Row = readonly unknown[];

/** Columns of `agentOf`, from `agents a`. */
export const AGENT_COLUMNS = `a.id, a.status, a.role, a.aliases, a.public_key, a.keyed_at,
  a.profile, a.digest, a.revision`;

/** Throws `store_corrupt` if the aliases cannot be parsed. */
export function agentOf(row: unknown): AgentRow {
  const [id, status, role, aliases, publicKey, keyedAt, profile, digest, revision] = row as [
    string,
    AgentRow["status"],
    string,
    string,
    string,
    number,
    string,
    string,
    number,
  ];
  const names = parseNames(aliases);
  if (names === undefined) throw damaged(`agent ${id}`, "unreadable aliases");
  return { id, status, role, aliases: names, publicKey, keyedAt, profile, digest, revision };
}

/** Like `agentOf`, but keeps unreadable aliases as one name; `verify` then reports the wrong digest. */
export function rawAgentOf(row: unknown): AgentRow {
  const columns = [...(row as Row)];
  const aliases = columns[3] as string;
  if (parseNames(aliases) === undefined) columns[3] = JSON.stringify([aliases]);
  return agentOf(columns);
}

function parseNames(aliases: string): string[] | undefined {
  try {
    const names: unknown = JSON.parse(aliases);
    return Array.isArray(names) ? names.map(String) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the error for a row that is not as it was written. */
export function damaged(record: string, what: string): BatonError {
  return new BatonError("store_corrupt", {
    message: `${record} is damaged: ${what}.`,
    path: record,
    hint: "Run hub.verify() to see what else is affected, then restore a backup.",
  });
}

/** Columns of `memoryOf`, from `memories m` and `chains c`. */
export const MEMORY_COLUMNS =
  "m.pos, m.id, c.branch, m.seq, m.stored_at, m.text, m.signature, m.link";

/** A memory with its position: its number in the order of storing, over all branches. */
export type PositionedMemory = MemoryRow & { readonly pos: number };

/** Converts a row of `MEMORY_COLUMNS`; further columns are ignored. */
export function memoryOf(row: unknown): PositionedMemory {
  const [pos, id, branch, seq, storedAt, text, signature, link] = row as [
    number,
    string,
    string,
    number,
    number,
    string,
    string,
    string,
  ];
  return { pos, id, branch, seq, storedAt, text, signature, link };
}

/** Columns of `edgeOf`, from `relations r` and the memories `s` (source) and `t` (target). */
export const EDGE_COLUMNS = "r.kind, s.id, t.id, r.valid_from, r.valid_until";

/** Converts a row of `EDGE_COLUMNS`; further columns are ignored. */
export function edgeOf(row: unknown): RelationEdge {
  const [kind, source, target, validFrom, validUntil] = row as [
    string,
    string,
    string,
    number,
    number,
  ];
  return { kind, source, target, validFrom, validUntil };
}

/** The handoff record has the same position as the envelope; its id and time are read from there (`m`). */
export const ENVELOPE_COLUMNS = "e.id, e.task, e.sender, e.text, m.id, m.stored_at";

/** Converts a row of `ENVELOPE_COLUMNS`; further columns are ignored. */
export function envelopeOf(row: unknown): EnvelopeRow {
  const [id, task, sender, text, memory, storedAt] = row as [
    string,
    string,
    string,
    string,
    string,
    number,
  ];
  return { id, task, sender, text, memory, storedAt };
}

/** Columns of `deliveryOf`, from `deliveries d`. */
export const DELIVERY_COLUMNS = `d.state, d.turn, d.place, d.attempt, d.max_attempts, d.fence,
  d.lease_until, d.hold_until, d.ready_at, d.deadline, d.lapse_at, d.sent_at, d.seen_at,
  d.accepted_at, d.settled_at, d.id, d.envelope, d.parent, d.task, d.sender, d.receiver, d.holder,
  d.instance, d.process, d.accepted_by, d.settled_by, d.followers`;

type Numbers15 = [
  ...[number, number, number, number, number, number, number, number],
  ...[number, number, number, number, number, number, number],
];
type Texts12 = [
  ...[string, string, string, string, string, string],
  ...[string, string, string, string, string, string],
];

/** Returns the row as stored, without checking it; an unknown state becomes `unknown <number>`. */
export function rawDeliveryOf(row: unknown): DeliveryRow {
  const columns = row as [...Numbers15, ...Texts12];
  return {
    state: DELIVERY_STATES[columns[0]] ?? (`unknown ${columns[0]}` as DeliveryState),
    inTurn: columns[1] === 1,
    place: columns[2],
    attempt: columns[3],
    maxAttempts: columns[4],
    fence: columns[5],
    leaseUntil: columns[6],
    holdUntil: columns[7],
    readyAt: columns[8],
    deadline: columns[9],
    lapseAt: columns[10],
    sentAt: columns[11],
    seenAt: columns[12],
    acceptedAt: columns[13],
    settledAt: columns[14],
    id: columns[15],
    envelope: columns[16],
    parent: columns[17],
    task: columns[18],
    sender: columns[19],
    receiver: columns[20],
    holder: columns[21],
    instance: columns[22],
    process: columns[23],
    acceptedBy: columns[24],
    settledBy: columns[25],
    followers: columns[26],
  };
}

/** Throws `store_corrupt` if the state is unknown. */
export function deliveryOf(row: unknown): DeliveryRow {
  const delivery = rawDeliveryOf(row);
  if (!DELIVERY_STATES.includes(delivery.state)) throw damaged(delivery.id, delivery.state);
  return delivery;
}

/** Returns the number that stands for a state in the database. */
export const stateNumber = (state: DeliveryState): number => DELIVERY_STATES.indexOf(state);

/** Columns of `attemptOf`. */
export const ATTEMPT_COLUMNS = "delivery, attempt, holder, instance, ended_at, outcome, reason";

/** Converts a row of `ATTEMPT_COLUMNS`. */
export function attemptOf(row: unknown): AttemptRow {
  const [delivery, attempt, holder, instance, endedAt, outcome, reason] = row as [
    string,
    number,
    string,
    string,
    number,
    AttemptRow["outcome"],
    string,
  ];
  return { delivery, attempt, holder, instance, endedAt, outcome, reason };
}

/** Columns of `eventOf`. */
export const EVENT_COLUMNS = "number, at, kind, agent, task, delivery, envelope, attempt";

/** Converts a row of `EVENT_COLUMNS`. */
export function eventOf(row: unknown): EventRow {
  const [number, at, kind, agent, task, delivery, envelope, attempt] = row as [
    number,
    number,
    EventRow["kind"],
    string,
    string,
    string,
    string,
    number,
  ];
  return { number, at, kind, agent, task, delivery, envelope, attempt };
}

/** Columns of `entryOf`. */
export const ENTRY_COLUMNS = "kind, name, revision, at, value, digest";

/** Converts a row of `ENTRY_COLUMNS`. */
export function entryOf(row: unknown): EntryRow {
  const [kind, name, revision, at, value, digest] = row as [
    string,
    string,
    number,
    number,
    string,
    string,
  ];
  return { kind, name, revision, at, value, digest };
}
