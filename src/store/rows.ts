/**
 * What a store keeps, as rows, and what it is given to keep. The canonical text of a record is the
 * record: what can be read from it is not kept a second time, so it cannot come to differ.
 */

import type { DeliveryState } from "../base/delivery-states.ts";
import { sha256 } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";

export {
  DELIVERY_STATES,
  type DeliveryState,
  HELD_STATES,
  isHeld,
  isOpen,
  isTaken,
  OPEN_STATES,
} from "../base/delivery-states.ts";

/** Who is paused keeps its inbox, and is given nothing from it. */
export const AGENT_STATUSES = ["active", "paused", "disabled"] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export interface AgentRow {
  readonly id: string;
  readonly status: AgentStatus;
  readonly role: string;
  readonly aliases: readonly string[];
  /** Ed25519 public key (SPKI, hex), or empty: identity is then declared, not proven. */
  readonly publicKey: string;
  /** Store time of the key's registration; records from then on must be signed. */
  readonly keyedAt: number;
  /** Canonical JSON of everything else that was said about the agent. */
  readonly profile: string;
  /** SHA-256 over all the other columns. */
  readonly digest: string;
  /** Counts changes; a change names the revision it is based on. */
  readonly revision: number;
}

export interface RelationEdge {
  readonly kind: string;
  /** The memory that says so. */
  readonly source: string;
  readonly target: string;
  /** Validity in milliseconds; 0 leaves that side open. */
  readonly validFrom: number;
  readonly validUntil: number;
}

/** What a record did to a delivery: written into the record by the hub, never by a caller. */
export type TrailStep = DeliveryStep | PublishStep;

export interface DeliveryStep {
  readonly attempt: number;
  readonly delivery: string;
  /** The delivery whose place it took. */
  readonly instead?: string | undefined;
  /** The receiver it goes to from now on. */
  readonly to?: string | undefined;
  readonly verb:
    | "send"
    | "extend"
    | "accept"
    | "complete"
    | "fail"
    | "decline"
    | "release"
    | "ask"
    | "answer"
    | "cancel"
    | "redrive"
    | "discard"
    | "reroute"
    | "reconstruct"
    | "open";
}

/** One envelope to many: each delivery with its receiver. */
export interface PublishStep {
  readonly deliveries: readonly (readonly [delivery: string, receiver: string])[];
  readonly verb: "publish";
}

/** A memory as its author made it: nothing in here is decided by the store. */
export interface NewMemory {
  readonly id: string;
  readonly agent: string;
  /** Canonical JSON of every author field, with id, salt and creation time. */
  readonly text: string;
  readonly digest: string;
  /** Ed25519 signature of the digest (hex), or empty. */
  readonly signature: string;
  /** The key the author signed with; must still be the agent's when the record is stored. */
  readonly publicKey: string;
  /** Every memory it names; each must exist when it is stored. */
  readonly mentions: readonly string[];
  readonly relations: readonly Omit<RelationEdge, "source">[];
}

/** A memory in its place on the chain. */
export interface MemoryRow {
  readonly id: string;
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly text: string;
  readonly signature: string;
  readonly link: string;
}

export interface NewEnvelope {
  readonly id: string;
  readonly task: string;
  readonly sender: string;
  readonly text: string;
  /** Every envelope it names as a parent; each must exist when it is stored. */
  readonly parents: readonly string[];
}

export interface EnvelopeRow extends Omit<NewEnvelope, "parents"> {
  /** The handoff record on the chain, which holds this envelope's digest. */
  readonly memory: string;
  readonly storedAt: number;
}

/** The inbox that the agents of a role share: a receiver like any other. */
export const roleInbox = (role: string): string => `role:${role}`;

export interface NewDelivery {
  readonly id: string;
  /** An agent's id, or the inbox of a role. */
  readonly receiver: string;
  readonly maxAttempts: number;
  /**
   * Places by which it goes ahead of what was sent before (negative: stays behind). Not taken while
   * earlier work of the same receiver and task is open: that comes first, however urgent this is.
   */
  readonly ahead: number;
  /** "scheduled": becomes ready after `delayMs`. "dead": parked at once, for `reason`. */
  readonly state: "ready" | "scheduled" | "dead";
  readonly delayMs: number;
  /** Canonical JSON of why it is parked at once; else empty. */
  readonly reason: string;
  /** Store time by which it must be settled; 0: no such time. */
  readonly deadline: number;
  /** Milliseconds until somebody has to decide about it, whatever happens; 0: only its deadline. */
  readonly lapseMs: number;
}

/** Where published work came from: no handoff of anybody continues it, so none extends it. */
export const publicationMark = (envelope: string): string => `${PUBLISHED}${envelope}`;
export const isPublication = (parent: string): boolean => parent.startsWith(PUBLISHED);
const PUBLISHED = "published ";

export interface DeliveryRow {
  readonly id: string;
  readonly envelope: string;
  readonly task: string;
  readonly sender: string;
  readonly receiver: string;
  /**
   * The envelope this line of work came from (empty at its start; of a publication, its mark);
   * extensions keep it.
   */
  readonly parent: string;
  readonly state: DeliveryState;
  /** Order within the receiver's inbox; an extension keeps the place of what it replaces. */
  readonly place: number;
  /**
   * False while an earlier delivery of the same receiver and task is open: it cannot be claimed
   * before that one is settled. Of the open deliveries of a receiver and task, the first is in turn.
   */
  readonly inTurn: boolean;
  /** Claims so far. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Grows with every claim; whoever holds an older one has lost the work. */
  readonly fence: number;
  readonly leaseUntil: number;
  /** However often its lease is renewed, the holder has it until then. */
  readonly holdUntil: number;
  readonly readyAt: number;
  /** By then it must be settled; 0: no such time. */
  readonly deadline: number;
  /** When somebody has to decide about it (its deadline, or sooner); 0: never. */
  readonly lapseAt: number;
  readonly sentAt: number;
  readonly seenAt: number;
  readonly acceptedAt: number;
  readonly settledAt: number;
  readonly holder: string;
  readonly instance: string;
  /**
   * The process the lease is bound to (delivery/receive/process.ts), so that its death can be noticed at
   * once; empty for the lease of a session, which only time can end.
   */
  readonly process: string;
  /** The receiver's continues-from record, and the record its settlement left. */
  readonly acceptedBy: string;
  readonly settledBy: string;
  /** Deliveries that wait for this one, separated by spaces. */
  readonly followers: string;
}

export const ATTEMPT_OUTCOMES = [
  "failed",
  "released",
  "expired",
  "declined",
  /** Nobody accepted it in time. */
  "unaccepted",
  /** The holder asked back. */
  "asked",
  /** Taken back while it was held. */
  "cancelled",
  /** Parked before anybody could try. */
  "stopped",
] as const;

/** A try that ended without completing. */
export interface AttemptRow {
  readonly delivery: string;
  readonly attempt: number;
  readonly holder: string;
  readonly instance: string;
  readonly endedAt: number;
  readonly outcome: (typeof ATTEMPT_OUTCOMES)[number];
  /** Canonical JSON of what went wrong. */
  readonly reason: string;
}

export const EVENT_KINDS = [
  "sent",
  "extended",
  "superseded",
  "claimed",
  "accepted",
  "completed",
  "failed",
  "declined",
  "released",
  "expired",
  "dead",
  "unaccepted",
  "asked",
  "answered",
  "cancelled",
  "lapsed",
  "rerouted",
  "redriven",
  "discarded",
  "opened",
  "awaited",
  "reminded",
  /** What it carries was taken out of sight, or put back. */
  "quarantined",
  "lifted",
  "breaker_opened",
  "breaker_reset",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface EventRow {
  /** Rises with every event of the store; a cursor over it never skips one. */
  readonly number: number;
  readonly at: number;
  readonly kind: EventKind;
  readonly agent: string;
  readonly task: string;
  readonly delivery: string;
  readonly envelope: string;
  readonly attempt: number;
}

/**
 * A small fact that agents and hubs share, by kind and name, changed by compare-and-set: a
 * subscription, a route, a breaker, a key that was used. Operational, like events; what a team knows
 * is a memory.
 */
export interface EntryRow {
  readonly kind: string;
  readonly name: string;
  /** Counts changes; a change names the revision it is based on. */
  readonly revision: number;
  readonly at: number;
  /** Canonical JSON. */
  readonly value: string;
  readonly digest: string;
}

/** The digest over an entry: flip anything in it and `verify` says so. */
export function entryDigest(entry: Pick<EntryRow, "kind" | "name" | "revision" | "value">): string {
  return sha256(JSON.stringify([entry.kind, entry.name, entry.revision, entry.value]));
}

/** The entry that counts how often work for a receiver was given up; gone after a completion. */
export const BREAKER = "breaker";

/** The sooner of two times of which 0 says that there is none. */
export const soonest = (a: number, b: number): number =>
  a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);

/** The digest over an agent's row: flip anything in it and `verify` says so. */
export function agentDigest(agent: Omit<AgentRow, "digest">): string {
  const { aliases, id, keyedAt, profile, publicKey, revision, role, status } = agent;
  return sha256(JSON.stringify([id, status, role, aliases, publicKey, keyedAt, profile, revision]));
}

/** Reads a stored text. One that is no JSON was changed behind our back. */
export function parseText<T>(row: { readonly id: string; readonly text: string }): T {
  try {
    return JSON.parse(row.text) as T;
  } catch (cause) {
    throw new BatonError("store_corrupt", {
      message: `${row.id} cannot be read: its text is damaged.`,
      path: row.id,
      hint: "Verify the store to see what else is affected, and restore a backup.",
      cause,
    });
  }
}
