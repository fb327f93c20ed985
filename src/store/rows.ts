/**
 * The row types of a store: what it keeps, and the input types it makes rows from. The canonical text of a
 * record is the record. What can be read from the text is not stored a second time, so the two cannot
 * diverge.
 *
 * Times are store time in milliseconds since 1970; 0 stands for no time.
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

/** The states of an agent. A paused agent keeps its inbox but cannot claim from it. */
export const AGENT_STATUSES = ["active", "paused", "disabled"] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** A registered agent. */
export interface AgentRow {
  readonly id: string;
  /** Its role; empty if it has none. */
  readonly status: AgentStatus;
  readonly role: string;
  readonly aliases: readonly string[];
  /** Ed25519 public key (SPKI, hex). Empty: the agent's identity is declared, not proven. */
  readonly publicKey: string;
  /** When the key was registered; records stored from then on must be signed. */
  readonly keyedAt: number;
  /** Canonical JSON of all other properties of the agent. */
  readonly profile: string;
  /** SHA-256 over all the other columns. */
  readonly digest: string;
  /** Number of changes; a change states the revision it is based on. */
  readonly revision: number;
}

/** An edge from one memory to another. */
export interface RelationEdge {
  readonly kind: string;
  /** The memory that declares the edge. */
  readonly source: string;
  readonly target: string;
  /** Validity in milliseconds, `validUntil` exclusive; 0: no limit on that side. */
  readonly validFrom: number;
  readonly validUntil: number;
}

/** What a record did to deliveries. The hub writes it into the record; callers cannot. */
export type TrailStep = DeliveryStep | PublishStep;

/** A step of one delivery. */
export interface DeliveryStep {
  readonly attempt: number;
  readonly delivery: string;
  /** The delivery that this one replaced. */
  readonly instead?: string | undefined;
  /** The new receiver. */
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

/** One envelope sent to many receivers: each delivery with its receiver. */
export interface PublishStep {
  readonly deliveries: readonly (readonly [delivery: string, receiver: string])[];
  readonly verb: "publish";
}

/** A memory as its author made it, before the store has assigned position, time and link. */
export interface NewMemory {
  readonly id: string;
  readonly agent: string;
  /** Canonical JSON of every author field, with id, salt and creation time. */
  readonly text: string;
  readonly digest: string;
  /** Ed25519 signature of the digest (hex), or empty. */
  readonly signature: string;
  /** The key the author signed with; must still be the agent's key when the record is stored. */
  readonly publicKey: string;
  /** Every memory that the text names; each must exist when the record is stored. */
  readonly mentions: readonly string[];
  readonly relations: readonly Omit<RelationEdge, "source">[];
}

/** A stored record, as the author of a later one knew it. */
export interface WitnessedRecord {
  readonly branch: string;
  readonly id: string;
  readonly link: string;
  readonly seq: number;
}

/** What a signature covers besides the content: where the record belongs, and what was stored before it. */
export interface Witness {
  /** The newest record of the branch that the author knew. */
  readonly after?: WitnessedRecord | undefined;
  readonly branch: string;
  /** The author's own newest record, if it is on another branch. */
  readonly previous?: WitnessedRecord | undefined;
  readonly workspace: string;
}

/** A stored memory with its position on a chain. */
export interface MemoryRow {
  readonly id: string;
  readonly branch: string;
  /** Position on the branch, from 1. */
  readonly seq: number;
  readonly storedAt: number;
  readonly text: string;
  readonly signature: string;
  /** Hash over the previous link, `seq`, `storedAt` and the digest (chain.ts). */
  readonly link: string;
}

/** An envelope to store. */
export interface NewEnvelope {
  readonly id: string;
  readonly task: string;
  readonly sender: string;
  /** The sealed envelope as canonical JSON. */
  readonly text: string;
  /** Every envelope that it names as a parent; each must exist when it is stored. */
  readonly parents: readonly string[];
}

/** A stored envelope. */
export interface EnvelopeRow extends Omit<NewEnvelope, "parents"> {
  /** The handoff record on the chain; it contains this envelope's digest. */
  readonly memory: string;
  readonly storedAt: number;
}

/** Returns the inbox that the agents of a role share: a receiver like any other. */
export const roleInbox = (role: string): string => `role:${role}`;

/** A delivery to create. */
export interface NewDelivery {
  readonly id: string;
  /** An agent's id, or the inbox of a role. */
  readonly receiver: string;
  readonly maxAttempts: number;
  /**
   * How many places it goes ahead of earlier deliveries (negative: behind later ones). It still waits for
   * earlier open work of the same receiver and task, however urgent it is.
   */
  readonly ahead: number;
  /** "scheduled": becomes ready after `delayMs`. "dead": dead-lettered at once, for `reason`. */
  readonly state: "ready" | "scheduled" | "dead";
  /** Milliseconds until a scheduled delivery becomes ready. */
  readonly delayMs: number;
  /** Canonical JSON of why it is dead-lettered at once; otherwise empty. */
  readonly reason: string;
  /** Store time by which it must be settled; 0: no deadline. */
  readonly deadline: number;
  /** Milliseconds until a decision about it is due, whatever happens; 0: only at its deadline. */
  readonly lapseMs: number;
}

/** Returns the `parent` of published work. No other handoff has this parent, so none extends the work. */
export const publicationMark = (envelope: string): string => `${PUBLISHED}${envelope}`;
/** Returns whether a delivery's `parent` marks a publication. */
export const isPublication = (parent: string): boolean => parent.startsWith(PUBLISHED);
const PUBLISHED = "published ";

/** The state of one envelope at one receiver. */
export interface DeliveryRow {
  readonly id: string;
  readonly envelope: string;
  readonly task: string;
  readonly sender: string;
  readonly receiver: string;
  /**
   * The envelope this line of work continues from; empty at the start of a line, `publicationMark()` for a
   * publication. Extensions keep it.
   */
  readonly parent: string;
  readonly state: DeliveryState;
  /** Order within the receiver's inbox, lowest first; an extension keeps the place of what it replaces. */
  readonly place: number;
  /**
   * False while an earlier delivery of the same receiver and task is open; it cannot be claimed until that
   * one is settled. Of the open deliveries of a receiver and task, only the first is in turn.
   */
  readonly inTurn: boolean;
  /** Number of claims so far. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Grows with every claim; a holder with an older fence has lost the work. */
  readonly fence: number;
  /** When the lease ends. */
  readonly leaseUntil: number;
  /** When the hold ends, however often the lease is renewed. */
  readonly holdUntil: number;
  /** When a scheduled delivery becomes ready. */
  readonly readyAt: number;
  /** When it must be settled; 0: no deadline. */
  readonly deadline: number;
  /** When a decision about it is due (its deadline, or sooner); 0: never. */
  readonly lapseAt: number;
  readonly sentAt: number;
  /** When it was first claimed; 0: never. */
  readonly seenAt: number;
  readonly acceptedAt: number;
  readonly settledAt: number;
  /** The agent that claimed it last; empty: never claimed. */
  readonly holder: string;
  /** The session that claimed it last. */
  readonly instance: string;
  /**
   * The process the lease is bound to (delivery/receive/process-identity.ts), so that its death is detected
   * at once. Empty for the lease of a session, which ends only by time.
   */
  readonly process: string;
  /** The receiver's continues-from record; empty before acceptance. */
  readonly acceptedBy: string;
  /** The record that the settlement wrote; empty if there is none. */
  readonly settledBy: string;
  /** Ids of the deliveries that wait for this one, separated by spaces. */
  readonly followers: string;
}

/** How an attempt can end other than by completion. */
export const ATTEMPT_OUTCOMES = [
  "failed",
  "released",
  "expired",
  "declined",
  /** Not accepted in time. */
  "accept_timeout",
  /** The holder asked the sender a question. */
  "asked",
  /** Cancelled while it was held. */
  "cancelled",
  /** Dead-lettered before it could be claimed. */
  "stopped",
] as const;

/** An attempt that ended without completion. */
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

/** The kinds of events in the operational log. */
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
  "accept_timeout",
  "asked",
  "answered",
  "cancelled",
  "deadline_passed",
  "rerouted",
  "redriven",
  "discarded",
  "opened",
  "postponed",
  "reminded",
  /** A memory that the delivery carries was quarantined, or the quarantine was lifted. */
  "quarantined",
  "lifted",
  "breaker_opened",
  "breaker_reset",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** An entry of the operational log. */
export interface EventRow {
  /** Increases with every event of the store; a cursor over it never skips one. */
  readonly number: number;
  readonly at: number;
  readonly kind: EventKind;
  /** The agent that caused it; this field and the ones below are empty (0) where they do not apply. */
  readonly agent: string;
  readonly task: string;
  readonly delivery: string;
  readonly envelope: string;
  readonly attempt: number;
}

/**
 * A small shared value, identified by kind and name and changed by compare-and-set: a subscription, a route,
 * a circuit breaker, a used idempotency key. Operational, like events; what a team knows is stored as
 * memories.
 */
export interface EntryRow {
  readonly kind: string;
  readonly name: string;
  /** Number of changes; a change states the revision it is based on. */
  readonly revision: number;
  /** When it was last changed. */
  readonly at: number;
  /** Canonical JSON. */
  readonly value: string;
  /** `entryDigest()` of the other columns. */
  readonly digest: string;
}

/** Returns the digest of an entry; `verify` reports any change that does not match it. */
export function entryDigest(entry: Pick<EntryRow, "kind" | "name" | "revision" | "value">): string {
  return sha256(JSON.stringify([entry.kind, entry.name, entry.revision, entry.value]));
}

/** The kind of the entry that counts deliveries a receiver lost in a row; deleted after a completion. */
export const BREAKER = "breaker";

/** Returns the earlier of two times, where 0 stands for no time. */
export const soonest = (a: number, b: number): number =>
  a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);

/** Returns the digest of an agent's row; `verify` reports any change that does not match it. */
export function agentDigest(agent: Omit<AgentRow, "digest">): string {
  const { aliases, id, keyedAt, profile, publicKey, revision, role, status } = agent;
  return sha256(JSON.stringify([id, status, role, aliases, publicKey, keyedAt, profile, revision]));
}

/** Parses a stored text. Throws `store_corrupt` if it is not JSON: the store was changed from outside. */
export function parseText<T>(row: { readonly id: string; readonly text: string }): T {
  try {
    return JSON.parse(row.text) as T;
  } catch (cause) {
    throw new BatonError("store_corrupt", {
      message: `${row.id} is damaged: its stored text is not valid JSON.`,
      path: row.id,
      hint: "Run hub.verify() to see what else is affected, then restore a backup.",
      cause,
    });
  }
}
