/**
 * An agent at work: everything one registered identity can do in one session. Each method is one
 * line into the room that does it; all of them pass `#call`, because calling keeps a session alive.
 */
import { type CatchUp, type CatchUpQuery, catchUp } from "./context/catch-up.ts";
import { type AcceptOptions, acceptNext } from "./delivery/accept.ts";
import { type InboxOptions, inbox } from "./delivery/inbox.ts";
import type { Offer } from "./delivery/offer.ts";
import { resumeWork } from "./delivery/resume.ts";
import { sendHandoff } from "./delivery/send.ts";
import { Sent } from "./delivery/sent.ts";
import { inSession } from "./delivery/session.ts";
import { type Waiting, type WaitingQuery, waitingFor } from "./delivery/waiting.ts";
import { Work } from "./delivery/work.ts";
import type { LeaseKind, Worker } from "./delivery/worker.ts";
import type { DraftOf } from "./envelope/schema.ts";
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
import type { RelationEdge } from "./store/rows.ts";
import type { Workspace } from "./store/workspace.ts";

export class Agent {
  readonly #workspace: Workspace;
  readonly #self: Worker;
  readonly info: AgentInfo;

  constructor(
    workspace: Workspace,
    identity: Identity,
    session: { readonly instance: string; readonly lease: LeaseKind },
  ) {
    this.#workspace = workspace;
    this.info = identity.agent;
    const { id: agent, role } = identity.agent;
    this.#self = { agent, role, signer: identity.signer, ...session };
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
  remember(input: MemoryInput | readonly MemoryInput[]): Promise<Memory | Memory[]> {
    return this.#call(async () => {
      const many = Array.isArray(input);
      const memories = await remember(this.#workspace, this.#self, many ? input : [input]);
      return many ? memories : (memories[0] as Memory);
    });
  }

  read(id: string): Promise<Memory> {
    return this.#call(() => readMemory(this.#workspace, id));
  }

  /** The newest memories of a task, agent, session, tag or type. */
  recent(query: RecentQuery = {}): Promise<Memory[]> {
    return this.#call(() => recentMemories(this.#workspace, query));
  }

  /** The edges at a memory: where it points ("out", the default) or who points to it ("in"). */
  relations(memory: string, query: RelationsQuery = {}): Promise<readonly RelationEdge[]> {
    return this.#call(() => relationsOf(this.#workspace, memory, query));
  }

  /** Makes a memory travel with everything. */
  pin(memory: string): Promise<void> {
    return this.#call(() => pin(this.#workspace, this.#self, memory));
  }

  unpin(memory: string): Promise<void> {
    return this.#call(() => unpin(this.#workspace, this.#self, memory));
  }

  pins(): Promise<Memory[]> {
    return this.#call(() => pinnedMemories(this.#workspace));
  }

  /** What to know after waking up: open handoffs, pins and recent records, within a budget. */
  catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    return this.#call(() => catchUp(this.#workspace, this.id, query));
  }

  /** Hands a task over. Acknowledged means stored for good, together with all it needs. */
  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    return this.#call(async () => {
      const outcome = await sendHandoff<T>(this.#workspace, this.#self, draft);
      if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      return new Sent<T>(this.#workspace, outcome);
    });
  }

  /**
   * Offers as they arrive. An offer is claimed for this session and counts as a try, even when
   * nothing is done with it; to look without touching, use `waiting()`.
   */
  async *inbox<T = unknown>(options: InboxOptions = {}): AsyncGenerator<Offer<T>, void, undefined> {
    await this.#call(async () => {});
    yield* inbox<T>(this.#workspace, this.#self, options);
  }

  /**
   * Takes the oldest handoff that waits (of a task, or one by id), in one step. With `wait: true`
   * it waits for one, until the signal aborts or the hub closes.
   */
  accept<T = unknown>(options: AcceptOptions = {}): Promise<Work<T> | undefined> {
    return this.#call(async () => {
      const claimed = await acceptNext(this.#workspace, this.#self, options);
      return claimed && new Work<T>(this.#workspace, this.#self, claimed);
    });
  }

  /** Goes on with work this agent has accepted, also in another process: by its `handle`. */
  resume<T = unknown>(handle: string): Promise<Work<T>> {
    return this.#call(async () => {
      const held = await resumeWork(this.#workspace, this.#self, handle);
      // In the name of the session that accepted it: whose work it is does not change.
      const holder = { ...this.#self, instance: held.delivery.instance };
      return new Work<T>(this.#workspace, holder, held);
    });
  }

  /**
   * What waits or is under way, in order, at most `limit` of it (`pageSize` unless told). Looking
   * never consumes. For the next page, pass the `place` of the last delivery as `after`.
   */
  waiting(query: WaitingQuery = {}): Promise<readonly Waiting[]> {
    return this.#call(() => waitingFor(this.#workspace, this.id, query));
  }

  #call<T>(run: () => Promise<T>): Promise<T> {
    return inSession(this.#workspace, this.#self, run);
  }
}
