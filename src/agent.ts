/**
 * An agent at work: everything one registered identity can do in one session. Each method is one
 * line into the room that does it.
 */
import { type CatchUp, type CatchUpQuery, catchUp } from "./context/catch-up.ts";
import { acceptNext, parseEnvelope } from "./delivery/accept.ts";
import type { Which } from "./delivery/claim.ts";
import { type InboxOptions, inbox } from "./delivery/inbox.ts";
import type { Offer } from "./delivery/offer.ts";
import { sendHandoff } from "./delivery/send.ts";
import { Sent } from "./delivery/sent.ts";
import { Work, type Worker } from "./delivery/work.ts";
import type { DraftOf, Envelope } from "./envelope/schema.ts";
import type { AgentInfo, Identity } from "./memory/agents.ts";
import { pin, pinnedMemories, unpin } from "./memory/pins.ts";
import {
  type RecentQuery,
  type RelationsQuery,
  readMemory,
  recentMemories,
  relationsOf,
} from "./memory/read.ts";
import type { Memory, MemoryInput } from "./memory/record.ts";
import { remember } from "./memory/remember.ts";
import { type DeliveryRow, OPEN_STATES, type RelationEdge } from "./store/rows.ts";
import type { Workspace } from "./store/workspace.ts";

/** A handoff that waits, or is under way. */
export interface Waiting {
  readonly delivery: DeliveryRow;
  readonly envelope: Envelope;
}

export class Agent {
  readonly #workspace: Workspace;
  readonly #self: Worker;
  readonly info: AgentInfo;

  constructor(workspace: Workspace, identity: Identity, instance: string) {
    this.#workspace = workspace;
    this.info = identity.agent;
    const { id: agent, role } = identity.agent;
    this.#self = { agent, instance, role, signer: identity.signer };
  }

  /** The canonical id, whatever alias was used to get here. */
  get id(): string {
    return this.#self.agent;
  }

  /** This session: five sessions of one agent stay apart. */
  get instance(): string {
    return this.#self.instance;
  }

  /** Remembers one thing, or many at once (all or none). */
  remember(input: MemoryInput): Promise<Memory>;
  remember(inputs: readonly MemoryInput[]): Promise<Memory[]>;
  async remember(input: MemoryInput | readonly MemoryInput[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(input);
    const memories = await remember(this.#workspace, this.#self, many ? input : [input]);
    return many ? memories : (memories[0] as Memory);
  }

  read(id: string): Promise<Memory> {
    return readMemory(this.#workspace, id);
  }

  /** The newest memories of a task, agent, session, tag or type. */
  recent(query: RecentQuery = {}): Promise<Memory[]> {
    return recentMemories(this.#workspace, query);
  }

  /** The edges at a memory: where it points ("out", the default) or who points to it ("in"). */
  relations(memory: string, query: RelationsQuery = {}): Promise<readonly RelationEdge[]> {
    return relationsOf(this.#workspace, memory, query);
  }

  /** Makes a memory travel with everything. */
  pin(memory: string): Promise<void> {
    return pin(this.#workspace, this.#self, memory);
  }

  unpin(memory: string): Promise<void> {
    return unpin(this.#workspace, this.#self, memory);
  }

  pins(): Promise<Memory[]> {
    return pinnedMemories(this.#workspace);
  }

  /** What to know after waking up: open handoffs, pins and recent records, within a budget. */
  catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    return catchUp(this.#workspace, this.id, query);
  }

  /** Hands a task over. Acknowledged means stored for good, together with all it needs. */
  async handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    const outcome = await sendHandoff<T>(this.#workspace, this.#self, draft);
    if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
    return new Sent<T>(this.#workspace, outcome);
  }

  /**
   * Offers as they arrive. An offer is claimed for this session and counts as a try, even when
   * nothing is done with it; to look without touching, use `waiting()`.
   */
  inbox<T = unknown>(options: InboxOptions = {}): AsyncGenerator<Offer<T>, void, undefined> {
    return inbox<T>(this.#workspace, this.#self, options);
  }

  /** Takes the oldest handoff that waits (of a task, or one by id), in one step. */
  async accept<T = unknown>(which: Which = {}): Promise<Work<T> | undefined> {
    const claimed = await acceptNext(this.#workspace, this.#self, which);
    return claimed && new Work<T>(this.#workspace, this.#self, claimed);
  }

  /** What waits or is under way, in order, at most `pageSize` of it. Looking never consumes. */
  async waiting(): Promise<readonly Waiting[]> {
    const { name, limits, store } = this.#workspace;
    const listed = await store.listDeliveries({
      workspace: name,
      receiver: this.id,
      states: OPEN_STATES,
      limit: limits.pageSize,
    });
    return listed.map(({ delivery, envelope }) => ({
      delivery,
      envelope: parseEnvelope(envelope),
    }));
  }
}
