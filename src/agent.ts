/**
 * An agent at work: everything one registered identity can do in one session. Each method is one
 * line into the room that does it; all of them pass `#call`, because calling keeps a session alive.
 */
import { type CatchUp, type CatchUpQuery, catchUp } from "./context/catch-up.ts";
import { type AcceptOptions, acceptNext } from "./delivery/accept.ts";
import { type Asked, answer, questionsTo } from "./delivery/ask.ts";
import { cancel } from "./delivery/cancel.ts";
import {
  type SubscribeOptions,
  SubscribeSchema,
  subscribe,
  unsubscribe,
} from "./delivery/channels.ts";
import { discard, type RedriveChanges, redrive } from "./delivery/dead.ts";
import { handOver } from "./delivery/handoff.ts";
import { type InboxOptions, inbox } from "./delivery/inbox.ts";
import { joinHandoffs } from "./delivery/join-handoffs.ts";
import type { Noted } from "./delivery/note.ts";
import type { Offer } from "./delivery/offer.ts";
import { type Once, once, resolveOnce } from "./delivery/once.ts";
import { type Approval, approve, type Edit, edit, reject, reply } from "./delivery/person.ts";
import type { Sending } from "./delivery/plan.ts";
import { replay } from "./delivery/replay.ts";
import { noteOn, resumeWork } from "./delivery/resume.ts";
import { Sent } from "./delivery/sent.ts";
import { inSession } from "./delivery/session.ts";
import { type Waiting, type WaitingQuery, waitingFor } from "./delivery/waiting.ts";
import { Work } from "./delivery/work.ts";
import type { LeaseKind, Worker } from "./delivery/worker.ts";
import type { DraftOf } from "./envelope/schema.ts";
import { parseOr } from "./envelope/violations.ts";
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
import type { DeliveryRow, RelationEdge } from "./store/rows.ts";
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
    return this.#call(() => catchUp(this.#workspace, this.#self, query));
  }

  /** Hands a task over. Acknowledged means stored for good, together with all it needs. */
  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    return this.#send<T>(draft);
  }

  /** Publishes on a channel: to its subscribers, or to the receivers that are named. */
  publish<T extends object = object>(
    channel: string,
    draft: Omit<DraftOf<T>, "to">,
    options: { readonly receivers?: readonly string[] } = {},
  ): Promise<Sent<T>> {
    const to = { kind: "channel" as const, channel };
    return this.#send<T>({ ...draft, to } as DraftOf<T>, options);
  }

  /**
   * A handoff that opens when the handoffs `of` have completed: all of them, `need: "any"` or so many.
   * It then has their results.
   */
  join<T extends object = object>(
    of: readonly (Sent | string)[],
    draft: DraftOf<T> & { readonly need?: "all" | "any" | number },
  ): Promise<Sent<T>> {
    return this.#call(() => joinHandoffs<T>(this.#workspace, this.#self, of, draft));
  }

  /** Gets what is published on a channel from now on; `from: "start"` also what was before. */
  subscribe(channel: string, options: SubscribeOptions = {}): Promise<{ replayed: number }> {
    return this.#call(async () => {
      const { from } = parseOr(SubscribeSchema, options, {
        code: "invalid_input",
        what: "The options",
      });
      await subscribe(this.#workspace, channel, this.id);
      if (from === "now") return { replayed: 0 };
      const since = from === "start" ? 0 : from;
      return { replayed: await replay(this.#workspace, channel, { agent: this.id, since }) };
    });
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#call(() => unsubscribe(this.#workspace, channel, this.id));
  }

  /** Takes back a handoff by its delivery's id, or everything of a task that is open. */
  cancel(
    what: { readonly delivery: string } | { readonly task: string },
    reason: string,
  ): Promise<readonly DeliveryRow[]> {
    return this.#call(() => cancel(this.#workspace, this.#self, what, reason));
  }

  /** What receivers have asked about handoffs of this agent, and nobody has answered. */
  questions(): Promise<Asked[]> {
    return this.#call(() => questionsTo(this.#workspace, this.id));
  }

  /** Answers a question: the work is offered again, with the answer. */
  answer(delivery: string, text: string): Promise<DeliveryRow> {
    return this.#call(() => answer(this.#workspace, this.#self, delivery, text));
  }

  /** Has a dead letter tried again: as it is, by another receiver, or with a changed envelope. */
  redrive(delivery: string, changes: RedriveChanges = {}): Promise<DeliveryRow> {
    return this.#call(() => redrive(this.#workspace, this.#self, delivery, changes));
  }

  /** Gives a dead letter up for good. */
  discard(delivery: string, reason: string): Promise<DeliveryRow> {
    return this.#call(() => discard(this.#workspace, this.#self, delivery, reason));
  }

  /** Runs an effect once in this workspace, however often it is asked for under this key. */
  once<T>(key: string, effect: () => Promise<T> | T): Promise<Once<T>> {
    return this.#call(() => once(this.#workspace, this.id, key, effect));
  }

  /** Says what came of an effect that was begun and not recorded. */
  resolve(key: string, result: unknown): Promise<void> {
    return this.#call(() => resolveOnce(this.#workspace, this.id, key, result));
  }

  /**
   * Offers as they arrive, own ones and those for the role. An offer is claimed for this session; one
   * that is let lie counts as a try when its lease runs out. To look without touching: `waiting()`.
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

  /** Writes a note by a work's handle. If the work was lost meanwhile, it is kept, and marked. */
  note(handle: string, input: MemoryInput | string): Promise<Noted> {
    const described = typeof input === "string" ? { content: input } : input;
    return this.#call(() => noteOn(this.#workspace, this.#self, handle, described));
  }

  /** Takes a handoff and completes it with the approval it asks for. */
  approve(delivery: string, options: Approval = {}): Promise<DeliveryRow> {
    return this.#call(() => approve(this.#workspace, this.#self, delivery, options));
  }

  /** Takes a handoff and completes it with the text it asks for. */
  reply(
    delivery: string,
    text: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#call(() => reply(this.#workspace, this.#self, delivery, { ...options, text }));
  }

  /** Takes a handoff and declines it. */
  reject(
    delivery: string,
    reason: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#call(() => reject(this.#workspace, this.#self, delivery, { ...options, reason }));
  }

  /** Takes a handoff and hands it back to its sender with changes, as a new envelope. */
  edit(delivery: string, changes: Edit): Promise<Sent<object>> {
    return this.#call(() => edit(this.#workspace, this.#self, delivery, changes));
  }

  /**
   * What waits or is under way, in order, at most `limit` of it (`pageSize` unless told). Looking
   * never consumes. For the next page, pass its last delivery as `after`.
   */
  waiting(query: WaitingQuery = {}): Promise<readonly Waiting[]> {
    return this.#call(() => waitingFor(this.#workspace, this.#self, query));
  }

  #send<T extends object>(draft: DraftOf<T>, sending: Sending = {}): Promise<Sent<T>> {
    return this.#call(async () => {
      const outcome = await handOver<T>(this.#workspace, this.#self, draft, sending);
      if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      return new Sent<T>(this.#workspace, this.#self, outcome);
    });
  }

  #call<T>(run: () => Promise<T>): Promise<T> {
    return inSession(this.#workspace, this.#self, run);
  }
}
