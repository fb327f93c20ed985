/**
 * An agent at work: everything one registered identity can do in one session. Each method is one
 * line into the room that does it; all of them pass `#call`, because calling keeps a session alive.
 */

import {
  type DocumentOptions,
  type DocumentReport,
  takeDocument,
} from "../archive/markdown/take.ts";
import { writeDocument } from "../archive/markdown/write.ts";
import { memoryLines } from "../archive/memories.ts";
import type { KeepingQuery } from "../archive/query.ts";
import type { ViewOptions } from "../context/view/compose.ts";
import { type CatchUp, type CatchUpQuery, catchUp } from "../coordination/catch-up/catch-up.ts";
import { type ReservationsQuery, reservations } from "../coordination/reservations/list.ts";
import type { Reservation } from "../coordination/reservations/reservation.ts";
import { type AcceptOptions, acceptNext } from "../delivery/receive/accept.ts";
import { claimNext, type Which } from "../delivery/receive/claim-next.ts";
import { type InboxOptions, inbox } from "../delivery/receive/inbox.ts";
import { replay } from "../delivery/receive/replay.ts";
import { inSession } from "../delivery/receive/session.ts";
import type { LookoutOptions } from "../delivery/receive/wait-for-delivery.ts";
import type { LeaseKind, Worker } from "../delivery/receive/worker.ts";
import { handOver } from "../delivery/send/handoff.ts";
import { joinHandoffs } from "../delivery/send/join-handoffs.ts";
import { type LintReport, lintDraft } from "../delivery/send/lint.ts";
import type { Sending } from "../delivery/send/plan.ts";
import { type Preview, preview } from "../delivery/send/preview.ts";
import {
  type SubscribeOptions,
  SubscribeSchema,
  subscribe,
  unsubscribe,
} from "../delivery/settings/channels.ts";
import { type Asked, answer, questionsTo } from "../delivery/settle/ask.ts";
import { cancel } from "../delivery/settle/cancel.ts";
import { discard, type RedriveChanges, redrive } from "../delivery/settle/dead-letters.ts";
import { type Waiting, type WaitingQuery, waitingFor } from "../delivery/watch/inbox-listing.ts";
import type { Noted } from "../delivery/work/note.ts";
import {
  beginOnce,
  keyWithin,
  type Once,
  once,
  recordBegun,
  resolveOnce,
} from "../delivery/work/once.ts";
import {
  type Approval,
  approve,
  type Decider,
  type Edit,
  edit,
  reject,
  reply,
} from "../delivery/work/person.ts";
import { type ReadMemory, type ReadOptions, readAsked } from "../delivery/work/read-record.ts";
import { deliveryOf, findHeld, noteOn, resumeWork } from "../delivery/work/resume.ts";
import type { Draft, DraftOf } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { type Background, backgroundOf } from "../history/background.ts";
import { type Ledger, ledgerOf } from "../ledger/ledger.ts";
import { release, taskName } from "../ledger/release.ts";
import type { ReleaseInput } from "../ledger/releasing.ts";
import { type AgentInfo, type Identity, readerOf } from "../memory/agents.ts";
import {
  abandonBranch,
  type BeginOptions,
  beginBranch,
  requireBranch,
} from "../memory/branches/branches.ts";
import { type BranchDiff, type DiffQuery, diffBranch } from "../memory/branches/compare.ts";
import { type Merged, type MergeOptions, mergeBranch } from "../memory/branches/merge.ts";
import { type Pinned, type PinsQuery, pin, pinnedMemories, unpin } from "../memory/pins.ts";
import { type Impact, type ImpactQuery, impactOf } from "../memory/quarantine/blast-radius.ts";
import {
  type LiftOptions,
  type LiftWhat,
  lift,
  listQuarantined,
  type Quarantined,
  type QuarantinedMemory,
  type QuarantineOptions,
  type QuarantineQuery,
  type QuarantineWhat,
  quarantine,
} from "../memory/quarantine/quarantine.ts";
import {
  type RecentMemory,
  type RecentQuery,
  type RelationsQuery,
  recentMemories,
  relationsOf,
} from "../memory/read.ts";
import type { Known } from "../memory/recall/known.ts";
import { type Recalled, type RecallQuery, recall } from "../memory/recall/recall.ts";
import {
  askKnown,
  type Remembered,
  type RememberOptions,
  rememberFirst,
} from "../memory/recall/search-first.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import {
  type RedactOptions,
  type RedactReport,
  type RedactTarget,
  redact,
} from "../memory/redaction/redact.ts";
import type { Told } from "../memory/redaction/secret-policy.ts";
import { runSql, type SqlAnswer, type SqlOptions } from "../memory/sql.ts";
import { type PruneOptions, type PruneReport, prune } from "../memory/traces/prune.ts";
import { flushTraces, type TraceStep, traceSteps } from "../memory/traces/trace.ts";
import { type TracesQuery, traces } from "../memory/traces/traces.ts";
import type { DeliveryRow, RelationEdge } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type Failures, LocalFailures } from "./failures.ts";
import { LocalOffer, type Offer } from "./offer.ts";
import type { Public } from "./public.ts";
import { LocalSent, type Sent } from "./sent.ts";
import { LocalSharedContext, type SharedContext } from "./shared-context.ts";
import { LocalTaskQueue, type TaskQueue } from "./tasks.ts";
import { LocalWork, type Work } from "./work.ts";

/** An agent at work, through whichever hub. */
export type Agent = Omit<Public<LocalAgent>, ForDoors>;

/** What only doors need that answer one call at a time, and pass handles on. */
type ForDoors =
  | "beginOnce"
  | "claim"
  | "held"
  | "offered"
  | "onBranchOf"
  | "onWake"
  | "recordOnce"
  | "send";

export class LocalAgent {
  readonly #workspace: Workspace;
  readonly #identity: Identity;
  readonly #self: Worker;
  readonly info: AgentInfo;
  /** What the whole team shares: read for this agent's role; written, or proposed. */
  readonly context: SharedContext;
  /** The task queue: what is open, blocked, in progress and closed; added to, closed, reopened. */
  readonly tasks: TaskQueue;
  /** What failed, and deciding about it. */
  readonly failures: Failures;

  constructor(
    workspace: Workspace,
    identity: Identity,
    session: { readonly instance: string; readonly lease: LeaseKind },
  ) {
    this.#identity = identity;
    this.info = identity.agent;
    const { id: agent, role, owner } = identity.agent;
    this.#workspace = { ...workspace, reader: readerOf(identity, session.instance) };
    this.#self = { agent, owner, role, signer: identity.signer, ...session };
    this.context = new LocalSharedContext(this.#workspace, this.#self, {
      model: identity.agent.model,
      call: (run) => this.#call(run),
    });
    this.tasks = new LocalTaskQueue(this.#workspace, this.#self, (run) => this.#call(run));
    this.failures = new LocalFailures(this.#workspace, this.#self, (run) => this.#call(run));
  }

  /** The canonical id, whatever alias was used to get here. */
  get id(): string {
    return this.#self.agent;
  }

  /** This session: five sessions of one agent stay apart. */
  get instance(): string {
    return this.#self.instance;
  }

  /**
   * Remembers one thing, or many at once (all or none). With `known: "report"` also told what is known
   * of it already, with "refuse" nothing is written that says the same.
   */
  remember(input: MemoryInput, options?: RememberOptions): Promise<Remembered>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<Remembered[]>;
  remember(
    input: MemoryInput | readonly MemoryInput[],
    options: RememberOptions = {},
  ): Promise<Remembered | Remembered[]> {
    return this.#call(async () => {
      const many = Array.isArray(input);
      const inputs = many ? input : [input];
      const memories = await rememberFirst(this.#workspace, this.#self, inputs, options);
      return many ? memories : (memories[0] as Remembered);
    });
  }

  /** What is known already of something: records that say the same, or speak against it. */
  known(input: MemoryInput): Promise<readonly Known[]> {
    return this.#call(() => askKnown(this.#workspace, input));
  }

  /**
   * A record by its id, exactly as it is; with `freshest` what holds in its place, with `level` also its
   * text as short as that.
   */
  read(id: string, options: ReadOptions = {}): Promise<ReadMemory> {
    return this.#call(() => readAsked(this.#workspace, id, options));
  }

  /** The newest memories of a task, agent, session, tag or type. */
  recent(query: RecentQuery = {}): Promise<RecentMemory[]> {
    return this.#call(() => recentMemories(this.#workspace, query));
  }

  /**
   * Notes down what was done, on this session's trace: out of what anybody recalls, searchable, and
   * pruned with it. Cheap enough for every tool call: it waits in a buffer, and is stored with others
   * a few milliseconds later. Who does not wait for it asks `flush` whether all of it was.
   */
  trace(step: TraceStep): Promise<Told<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<Told<Memory>[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const traced = this.#call(async () => {
      const memories = await traceSteps(this.#workspace, this.#self, many ? step : [step]);
      return many ? memories : (memories[0] as Memory);
    });
    traced.catch(() => {}); // Tracing alone never ends a process; flush tells of it.
    return traced;
  }

  /** Waits until all that was traced is stored; throws when a step of this session was not. */
  flush(): Promise<void> {
    return this.#call(() => flushTraces(this.#workspace, this.#self));
  }

  /** The newest steps of a session, a task or an agent, in order. */
  traces(query: TracesQuery = {}): Promise<Memory[]> {
    return this.#call(() => traces(this.#workspace, query));
  }

  /** The memories that answer a question, best first, each with why. */
  recall(question: string, query: RecallQuery = {}): Promise<Recalled> {
    return this.#call(() => recall(this.#workspace, question, query));
  }

  /** The edges at a memory: where it points ("out", the default) or who points to it ("in"). */
  relations(memory: string, query: RelationsQuery = {}): Promise<readonly RelationEdge[]> {
    return this.#call(() => relationsOf(this.#workspace, memory, query));
  }

  /** All that came of a memory: records, handoffs that carried it, agents that saw it. */
  impact(memory: string, query: ImpactQuery = {}): Promise<Impact> {
    return this.#call(() => impactOf(this.#workspace, memory, query));
  }

  /**
   * Takes records out of every look: by id, or all that an agent or session wrote; with `downstream`
   * also what came of them. Whoever holds a handoff that carries any of it is told.
   */
  quarantine(
    what: QuarantineWhat,
    reason: string,
    options: QuarantineOptions = {},
  ): Promise<Quarantined> {
    return this.#call(() => quarantine(this.#workspace, this.#self, what, { ...options, reason }));
  }

  /**
   * Puts quarantined records back in sight: by id, all that an agent or session wrote, or all that one
   * quarantine took, by the record that says so.
   */
  lift(what: LiftWhat, reason: string, options: LiftOptions = {}): Promise<Quarantined> {
    return this.#call(() => lift(this.#workspace, this.#self, what, { ...options, reason }));
  }

  /** What is quarantined, by whom and why, of what this agent may see; a page at a time. */
  quarantined(query: QuarantineQuery = {}): Promise<QuarantinedMemory[]> {
    return this.#call(() => listQuarantined(this.#workspace, query));
  }

  /** One read-only query over the views of the workspace (docs/SQL.md), of what this agent sees. */
  sql(query: string, options: SqlOptions = {}): Promise<SqlAnswer> {
    return this.#call(() => runSql(this.#workspace, query, options));
  }

  /**
   * Takes a secret away for good: records and envelopes by their ids, or a text wherever it stands in
   * the workspace. Bodies go, digests stay, and the chain says who did it and why.
   */
  redact(target: RedactTarget, reason: string, options: RedactOptions = {}): Promise<RedactReport> {
    return this.#call(() => redact(this.#workspace, this.#self, { target, reason }, options));
  }

  /** Carries out the rules of retention; what vouches for it is written by this agent. */
  prune(options: PruneOptions = {}): Promise<PruneReport> {
    return this.#call(() => prune(this.#workspace, this.#self, options));
  }

  /** Makes a memory travel with everything. */
  pin(memory: string): Promise<void> {
    return this.#call(() => pin(this.#workspace, this.#self, memory));
  }

  unpin(memory: string): Promise<void> {
    return this.#call(() => unpin(this.#workspace, this.#self, memory));
  }

  pins(query: PinsQuery = {}): Promise<Pinned[]> {
    return this.#call(() => pinnedMemories(this.#workspace, query));
  }

  /** The branch it reads and writes. */
  get onBranch(): string {
    return this.#workspace.branch;
  }

  /** Begins a branch where its base stands now, and works on it: the same agent, the same session. */
  branch(name: string, options: BeginOptions = {}): Promise<Agent> {
    return this.#call(async () => {
      await beginBranch(this.#workspace, this.#self, name, options);
      return this.#onBranch(name);
    });
  }

  /** The same agent in the same session, reading and writing on this branch. */
  on(branch: string): Promise<Agent> {
    return this.onBranchOf(branch);
  }

  /** The same, for doors. */
  onBranchOf(branch: string): Promise<LocalAgent> {
    return this.#call(async () =>
      this.#onBranch((await requireBranch(this.#workspace, branch)).name),
    );
  }

  /** Calls back after a commit that concerns this agent: a hint, which may be lost. Returns how to stop. */
  onWake(listener: () => void): () => void {
    const { store, name: workspace } = this.#workspace;
    return store.onWake({ workspace, agent: this.id }, listener);
  }

  #onBranch(branch: string): LocalAgent {
    const { instance, lease } = this.#self;
    const agent = new LocalAgent({ ...this.#workspace, branch }, this.#identity, {
      instance,
      lease,
    });
    agent.context.sawUpTo(this.context.seen); // The same session has read it.
    return agent;
  }

  /** What was written on a branch, what that replaces, and what stands in the way of merging it. */
  diff(branch: string, query: DiffQuery = {}): Promise<BranchDiff> {
    return this.#call(() => diffBranch(this.#workspace, branch, query));
  }

  /** Merges a branch into its base. With conflicts that are not resolved, nothing is changed. */
  merge(branch: string, options: MergeOptions = {}): Promise<Merged> {
    return this.#call(() => mergeBranch(this.#workspace, this.#self, branch, options));
  }

  /** Gives a branch up: its base sees nothing of it, its records are read by their ids. */
  abandon(branch: string, reason: string): Promise<Memory> {
    return this.#call(() => abandonBranch(this.#workspace, this.#self, branch, reason));
  }

  /** What to know after waking up: open handoffs, pins, the shared context and recent records, within a budget. */
  catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    return this.#call(async () => {
      const waking = { ...this.#self, model: this.info.model };
      const caughtUp = await catchUp(this.#workspace, waking, query);
      this.context.sawUpTo(caughtUp.context);
      return caughtUp;
    });
  }

  /** Memories that this agent may see, as lines of text, for reading: not for importing. */
  exportMemories(query: KeepingQuery = {}): AsyncGenerator<string, void, undefined> {
    return memoryLines(this.#workspace, query);
  }

  /** What this agent may see of what is known, as a document for people (MEMORY.md). */
  exportMarkdown(query: KeepingQuery = {}): Promise<string> {
    return this.#call(() => writeDocument(this.#workspace, query));
  }

  /** Takes a document in: new entries are remembered, changed ones supersede; nothing is deleted. */
  importMarkdown(text: string, options: DocumentOptions = {}): Promise<DocumentReport> {
    return this.#call(() => takeDocument(this.#workspace, this.#self, text, options));
  }

  /** What could be better about a handoff before it is sent, each with a hint. Sends nothing. */
  lint<T extends object = object>(draft: DraftOf<T>): Promise<LintReport> {
    return this.#call(() => lintDraft(this.#workspace, this.#self, draft as Draft));
  }

  /** Hands a task over. Acknowledged means stored for good, together with all it needs. */
  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    return this.send<T>(draft);
  }

  /** What a handoff would be, and what its receiver would be shown of it. Nothing is sent or written. */
  preview<T extends object = object>(
    draft: DraftOf<T>,
    options: ViewOptions = {},
  ): Promise<Preview<T>> {
    return this.#call(() => preview<T>(this.#workspace, this.#self, draft, options));
  }

  /** Publishes on a channel: to its subscribers, or to the receivers that are named. */
  publish<T extends object = object>(
    channel: string,
    draft: Omit<DraftOf<T>, "to">,
    options: { readonly receivers?: readonly string[] } = {},
  ): Promise<Sent<T>> {
    const to = { kind: "channel" as const, channel };
    return this.send<T>({ ...draft, to } as DraftOf<T>, options);
  }

  /**
   * A handoff that opens when the handoffs `of` have completed: all of them, `need: "any"` or so many.
   * It then has their results.
   */
  join<T extends object = object>(
    of: readonly (Sent | string)[],
    draft: DraftOf<T> & { readonly need?: "all" | "any" | number },
  ): Promise<Sent<T>> {
    return this.#call(async () => {
      const sent = await joinHandoffs<T>(this.#workspace, this.#self, of, draft);
      return new LocalSent<T>(this.#workspace, this.#self, sent);
    });
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

  /** What follows a task to its end: its original intent, its musts, its open decisions, its releases. */
  ledger(task: string): Promise<Ledger | undefined> {
    return this.#call(() => ledgerOf(this.#workspace, taskName(task)));
  }

  /**
   * Takes a constraint that holds no more, or a decision that was made, off a task's ledger, with the
   * reason. For whoever set it, or is to decide it, and for roles that may (`hub.releasers()`).
   */
  release(task: string, released: ReleaseInput): Promise<Ledger> {
    return this.#call(() => release(this.#workspace, this.#self, task, released));
  }

  /** What is reserved now, and by whom; with `touching` only what stands in the way of that. */
  reservations(query: ReservationsQuery = {}): Promise<readonly Reservation[]> {
    return this.#call(() => reservations(this.#workspace, query));
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
    for await (const claimed of inbox(this.#workspace, this.#self, options)) {
      yield await LocalOffer.of<T>(this.#workspace, this.#self, claimed);
    }
  }

  /**
   * Takes the oldest handoff that waits (of a task, or one by id), in one step. With `wait: true`
   * it waits for one, until the signal aborts or the hub closes.
   */
  accept<T = unknown>(options: AcceptOptions = {}): Promise<Work<T> | undefined> {
    return this.#call(async () => {
      const claimed = await acceptNext(this.#workspace, this.#self, options);
      return claimed && LocalWork.begin<T>(this.#workspace, this.#self, claimed);
    });
  }

  /** Goes on with work this agent has accepted, also in another process: by its `handle`. */
  resume<T = unknown>(handle: string): Promise<Work<T>> {
    return this.#call(async () => {
      const held = await resumeWork(this.#workspace, this.#self, handle);
      return this.#work<T>(held, await backgroundOf(this.#workspace, held));
    });
  }

  /** Writes a note by a work's handle. If the work was lost meanwhile, it is kept, and marked. */
  note(handle: string, input: MemoryInput | string): Promise<Noted> {
    const described = typeof input === "string" ? { content: input } : input;
    return this.#call(() => noteOn(this.#workspace, this.#self, handle, described));
  }

  /** Takes a handoff and completes it with the approval it asks for. */
  approve(delivery: string, options: Approval = {}): Promise<DeliveryRow> {
    return this.#call(() => approve(this.#decider(), delivery, options));
  }

  /** Takes a handoff and completes it with the text it asks for. */
  reply(
    delivery: string,
    text: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#call(() => reply(this.#decider(), delivery, { ...options, text }));
  }

  /** Takes a handoff and declines it. */
  reject(
    delivery: string,
    reason: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#call(() => reject(this.#decider(), delivery, { ...options, reason }));
  }

  /** Takes a handoff and hands it back to its sender with changes, as a new envelope. */
  edit(delivery: string, changes: Edit): Promise<Sent<object>> {
    return this.#call(() => edit(this.#decider(), delivery, changes));
  }

  /**
   * What waits or is under way, in order, at most `limit` of it (`pageSize` unless told). Looking
   * never consumes. For the next page, pass its last delivery as `after`.
   */
  waiting(query: WaitingQuery = {}): Promise<readonly Waiting[]> {
    return this.#call(() => waitingFor(this.#workspace, this.#self, query));
  }

  /** The next offer, of this task or this one; undefined when there is none, or the wait was ended. */
  claim(which: Which, waiting: LookoutOptions): Promise<LocalOffer | undefined> {
    return this.#call(async () => {
      const claimed = await claimNext(this.#workspace, this.#self, which, waiting);
      return claimed && (await LocalOffer.of(this.#workspace, this.#self, claimed));
    });
  }

  /** An offer by its handle. */
  offered(handle: string, envelope?: string): Promise<LocalOffer> {
    return this.#call(async () => {
      const known = { state: "claimed" as const, ...(envelope === undefined ? {} : { envelope }) };
      const claimed = await findHeld(this.#workspace, this.#self, handle, known);
      return LocalOffer.of(this.#workspace, this.#self, claimed);
    });
  }

  /** Accepted work by its handle, as its holder knows it: told of everything up to this envelope. */
  held(handle: string, envelope?: string): Promise<LocalWork> {
    return this.#call(async () => {
      const known = { state: "accepted" as const, ...(envelope === undefined ? {} : { envelope }) };
      return this.#work(await findHeld(this.#workspace, this.#self, handle, known));
    });
  }

  /** Says that an effect begins, once under this key; within the work of a handle, under that work's own. */
  beginOnce(key: string, handle?: string): Promise<{ readonly kind: "begun" } | Once<unknown>> {
    return this.#call(async () => {
      if (handle === undefined) return beginOnce(this.#workspace, this.id, key);
      const own = keyWithin(deliveryOf(handle), key);
      await resumeWork(this.#workspace, this.#self, handle); // Not any more when it is cancelled, or somebody else's.
      return beginOnce(this.#workspace, this.id, own);
    });
  }

  /** Says what came of an effect that this agent began: it happened, whoever has the work by now. */
  recordOnce(key: string, result: unknown, handle?: string): Promise<void> {
    return this.#call(async () => {
      const own = handle === undefined ? key : keyWithin(deliveryOf(handle), key);
      await recordBegun(this.#workspace, this.id, own, result);
    });
  }

  /** Hands over, to these receivers where it is a publication. */
  send<T extends object>(
    draft: DraftOf<T>,
    sending: Pick<Sending, "receivers"> = {},
  ): Promise<Sent<T>> {
    return this.#call(async () => {
      const outcome = await handOver<T>(this.#workspace, this.#self, draft, sending);
      if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      return new LocalSent<T>(this.#workspace, this.#self, outcome);
    });
  }

  /** For decisions about a delivery in one step. */
  #decider(): Decider<Sent<object>> {
    const workspace = this.#workspace;
    const open = (holder: Worker, accepted: Claimed) => new LocalWork(workspace, holder, accepted);
    return { workspace, person: this.#self, open };
  }

  /** In the name of the session that accepted it: whose work it is does not change. */
  #work<T>(held: Claimed, background?: Background): LocalWork<T> {
    const { instance } = held.delivery;
    const reader = { ...this.#workspace.reader, session: instance };
    const holder = { ...this.#self, instance };
    const how = { resumed: true, ...(background && { background }) };
    return new LocalWork<T>({ ...this.#workspace, reader }, holder, held, how);
  }

  #call<T>(run: () => Promise<T>): Promise<T> {
    return inSession(this.#workspace, this.#self, run);
  }
}
