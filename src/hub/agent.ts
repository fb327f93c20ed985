/**
 * `Agent`: everything one registered agent can do in one session, as an interface and its local
 * implementation. The everyday calls are methods, the rest is grouped by noun. Every call goes through
 * `#call`, which renews the leases of the session.
 */
import { type CatchUp, type CatchUpQuery, catchUp } from "../coordination/catch-up/catch-up.ts";
import { acceptNext } from "../delivery/receive/accept.ts";
import { type ClaimFilter, claimNext } from "../delivery/receive/claim-next.ts";
import { claimFromInbox } from "../delivery/receive/inbox.ts";
import type { AcceptOptions, InboxOptions } from "../delivery/receive/receive-options.ts";
import { withSessionRenewal } from "../delivery/receive/session-renewal.ts";
import type { ClaimWaitOptions } from "../delivery/receive/wait-for-delivery.ts";
import type { Worker } from "../delivery/receive/worker.ts";
import { performHandoff, performHandoffs } from "../delivery/send/handoff.ts";
import type { SendOptions } from "../delivery/send/plan.ts";
import { findHeldWork, resumeWork } from "../delivery/work/work-handle.ts";
import type { DraftOf } from "../envelope/schema.ts";
import { type Background, backgroundOf } from "../history/background.ts";
import { type AgentInfo, type Identity, readerOf } from "../memory/agents.ts";
import { requireBranch } from "../memory/branches/branches.ts";
import { type RecallQuery, type RecallResult, recall } from "../memory/recall/recall.ts";
import {
  type RememberOptions,
  type RememberResult,
  rememberChecked,
} from "../memory/recall/remember-checked.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { WithSecrets } from "../memory/redaction/secret-policy.ts";
import { type TraceStep, traceSteps } from "../memory/traces/trace.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type AgentBranches, agentBranches } from "./groups/branches.ts";
import type { Call } from "./groups/call.ts";
import { type AgentChannels, agentChannels } from "./groups/channels.ts";
import { type AgentDeadLetters, agentDeadLetters } from "./groups/dead-letters.ts";
import { type AgentDeliveries, agentDeliveries } from "./groups/deliveries.ts";
import { type Effects, effects } from "./groups/effects.ts";
import { type AgentFailures, agentFailures } from "./groups/failures.ts";
import { type AgentHandoffs, agentHandoffs } from "./groups/handoffs.ts";
import { type AgentMemories, agentMemories } from "./groups/memories.ts";
import { type Approvals, approvals, type Questions, questions } from "./groups/questions.ts";
import { LocalSharedContext, type SharedContext } from "./groups/shared-context.ts";
import { type AgentTasks, agentTasks } from "./groups/tasks.ts";
import { type AgentTraces, agentTraces } from "./groups/traces.ts";
import { LocalWork } from "./local-work.ts";
import { LocalOffer, type Offer } from "./offer.ts";
import { LocalSent, type Sent } from "./sent.ts";
import type { Work } from "./work.ts";
import { localWorkSource } from "./work-loop/local-work-source.ts";
import type { WorkHandler, WorkSummary } from "./work-loop/work-handler.ts";
import { runWorkLoop } from "./work-loop/work-loop.ts";
import { checkWorkOptions, type WorkOptions } from "./work-loop/work-options.ts";

/**
 * An agent in one session, in this process or over HTTP. `hub.agent()` returns it.
 *
 * ```ts
 * const agent = await hub.agent("writer", { role: "writer" });
 * await agent.remember({ type: "fact", content: "The API uses UTC." });
 * await agent.handoff({ task: "report", to: "reviewer", intent: "Review the report." });
 * ```
 */
export interface Agent {
  /** The canonical id, also if the agent was opened by an alias. */
  readonly id: string;
  /** The registration as it was when the session was opened. */
  readonly info: AgentInfo;
  /** The id of the session. Each session of an agent has separate leases and private records. */
  readonly instance: string;
  /**
   * The branch that this agent reads and writes. Default: "main"; `branches.use()` returns the agent on
   * another.
   */
  readonly branch: string;

  /**
   * Stores one memory, or several in one operation (all or none). With `known: "report"` also returns similar
   * memories that exist; with `known: "refuse"` throws `already_known` instead of storing a duplicate. Throws
   * `invalid_memory`, `limit_exceeded`, `secret_found`, `dangling_reference`.
   */
  remember(input: MemoryInput, options?: RememberOptions): Promise<RememberResult>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<RememberResult[]>;
  /**
   * Returns the memories that answer a question, best first, each with the reasons why it matched. Default
   * limit: 10.
   */
  recall(question: string, query?: RecallQuery): Promise<RecallResult>;
  /**
   * Returns what an agent should know when it starts: open handoffs, pinned memories, shared context, recent
   * records.
   */
  catchUp(query?: CatchUpQuery): Promise<CatchUp>;
  /**
   * Records steps on the trace of this session. Steps are excluded from recall, can be searched, and are
   * pruned by retention. They are buffered and stored a few milliseconds later; `traces.flush()` waits until
   * all are stored.
   */
  trace(step: TraceStep): Promise<WithSecrets<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<WithSecrets<Memory>[]>;

  /**
   * Sends a handoff. When the promise resolves, the handoff and everything it needs are on disk. Sending
   * again with the same `key` returns the original handoff. Throws `invalid_envelope`, `unknown_agent`,
   * `no_route`, `inbox_full`, `circuit_open`, `lint_refused` and others.
   */
  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>>;
  /**
   * Sends several handoffs in one operation: all of them, or none. Returns them in the order of the drafts.
   * Each draft may name an agent, a role or a channel. Throws what `handoff()` throws, with the path of the
   * draft, such as `drafts[2].to`.
   *
   * ```ts
   * await agent.handoffMany(files.map((file) => ({ to: "role:reviewer", intent: `Review ${file}` })));
   * ```
   */
  handoffMany<T extends object = object>(drafts: readonly DraftOf<T>[]): Promise<Sent<T>[]>;
  /**
   * Yields offers to this agent and to its role as they arrive. Each offer is claimed for this session; an
   * offer that is neither accepted nor released counts as an attempt when its lease ends. Waits for more
   * until `options.signal` aborts, `timeoutMs` passes or the hub closes; with `wait: false` ends when nothing
   * is ready.
   */
  inbox<T = unknown>(options?: InboxOptions): AsyncGenerator<Offer<T>, void, undefined>;
  /**
   * Claims and accepts the next handoff, optionally only of a `task` or one `delivery`. Returns undefined if
   * nothing is ready. With `wait: true`, waits until a handoff is ready, the signal aborts or the hub closes.
   *
   * ```ts
   * await using work = await agent.accept({ wait: true });
   * await work?.complete({ summary: "Done." });
   * ```
   */
  accept<T = unknown>(options?: AcceptOptions): Promise<Work<T> | undefined>;
  /**
   * Continues accepted work by its `handle`, also in another process. Throws `lease_lost` if the work is no
   * longer held, and `cancelled` if it was cancelled.
   */
  resume<T = unknown>(handle: string): Promise<Work<T>>;
  /**
   * Runs a handler on handoffs as they arrive, `concurrency` at a time (default: 1), until `options.signal`
   * aborts or the hub closes. What the handler returns completes the work: nothing, a summary or a result.
   * What it throws fails the attempt, and the policy decides about the next. If the sender extended the
   * handoff meanwhile, the handler runs again with the new envelope. A handler can also settle the work
   * itself. Leases are renewed while it runs.
   *
   * Returns how the work ended, as numbers. Claiming is retried while the hub cannot be reached; any other
   * error of claiming stops the loop and is thrown after running handlers have finished. Errors that the loop
   * handles are reported to `options.onError`.
   *
   * ```ts
   * await agent.work(async (work) => `Reviewed ${work.envelope.intent}`, { concurrency: 4 });
   * ```
   */
  work<T = unknown>(handler: WorkHandler<T>, options?: WorkOptions): Promise<WorkSummary>;

  /** Reads, relates, pins, quarantines and redacts memories. */
  readonly memories: AgentMemories;
  /** Creates, compares, merges and abandons branches. */
  readonly branches: AgentBranches;
  /** Reads and flushes traces. */
  readonly traces: AgentTraces;
  /** Lints and previews drafts, and sends joins. */
  readonly handoffs: AgentHandoffs;
  /** Lists the inbox, cancels handoffs and writes notes by handle. */
  readonly deliveries: AgentDeliveries;
  /** Redrives and discards dead letters. */
  readonly deadLetters: AgentDeadLetters;
  /** Lists and answers questions of receivers. */
  readonly questions: Questions;
  /** Approves, replies to, rejects and edits handoffs on behalf of a person. */
  readonly approvals: Approvals;
  /** Publishes to channels and subscribes to them. */
  readonly channels: AgentChannels;
  /** Queues, closes, reopens and cancels tasks. */
  readonly tasks: AgentTasks;
  /** Lists failures and decides about them. */
  readonly failures: AgentFailures;
  /** The shared context: constraints, conventions, decisions and project facts of the team. */
  readonly context: SharedContext;
  /** Runs side effects at most once per key. */
  readonly effects: Effects;
}

/** The agent of a hub in this process. Public methods beyond `Agent` are for the HTTP and MCP interfaces. */
export class LocalAgent implements Agent {
  readonly #workspace: Workspace;
  readonly #identity: Identity;
  readonly #self: Worker;
  readonly #call: Call = (run) => withSessionRenewal(this.#workspace, this.#self, run);
  readonly info: AgentInfo;
  readonly memories: AgentMemories;
  readonly branches: AgentBranches;
  readonly traces: AgentTraces;
  readonly handoffs: AgentHandoffs;
  readonly deliveries: AgentDeliveries;
  readonly deadLetters: AgentDeadLetters;
  readonly questions: Questions;
  readonly approvals: Approvals;
  readonly channels: AgentChannels;
  readonly tasks: AgentTasks;
  readonly failures: AgentFailures;
  readonly context: LocalSharedContext;
  readonly effects: Effects;

  constructor(
    workspace: Workspace,
    identity: Identity,
    session: Pick<Worker, "instance" | "lease" | "isCoordinator">,
  ) {
    this.#identity = identity;
    this.info = identity.agent;
    const { id: agent, role, owner } = identity.agent;
    const here = { ...workspace, reader: readerOf(identity, session.instance) };
    const self: Worker = { agent, owner, role, signer: identity.signer, ...session };
    const call = this.#call;
    this.#workspace = here;
    this.#self = self;
    this.memories = agentMemories(here, self, call);
    this.branches = agentBranches(here, { self, call, on: (branch) => this.#onBranch(branch) });
    this.traces = agentTraces(here, self, call);
    this.handoffs = agentHandoffs(here, self, call);
    this.deliveries = agentDeliveries(here, self, call);
    this.deadLetters = agentDeadLetters(here, self, call);
    this.questions = questions(here, self, call);
    this.approvals = approvals(here, self, call);
    this.channels = agentChannels(here, {
      agent,
      call,
      publish: (channel, draft, options) =>
        this.send({ ...draft, to: { kind: "channel", channel } } as never, options),
    });
    this.tasks = agentTasks(here, self, call);
    this.failures = agentFailures(here, self, call);
    this.context = new LocalSharedContext(here, self, { model: identity.agent.model, call });
    this.effects = effects(here, self, call);
  }

  get id(): string {
    return this.#self.agent;
  }

  get instance(): string {
    return this.#self.instance;
  }

  get branch(): string {
    return this.#workspace.branch;
  }

  remember(input: MemoryInput, options?: RememberOptions): Promise<RememberResult>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<RememberResult[]>;
  remember(
    input: MemoryInput | readonly MemoryInput[],
    options: RememberOptions = {},
  ): Promise<RememberResult | RememberResult[]> {
    return this.#call(async () => {
      const many = Array.isArray(input);
      const inputs = many ? input : [input];
      const memories = await rememberChecked(this.#workspace, this.#self, inputs, options);
      return many ? memories : (memories[0] as RememberResult);
    });
  }

  trace(step: TraceStep): Promise<WithSecrets<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<WithSecrets<Memory>[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const traced = this.#call(async () => {
      const memories = await traceSteps(this.#workspace, this.#self, many ? step : [step]);
      return many ? memories : (memories[0] as Memory);
    });
    traced.catch(() => {}); // Tracing alone never ends a process; flush() reports the error.
    return traced;
  }

  recall(question: string, query: RecallQuery = {}): Promise<RecallResult> {
    return this.#call(() => recall(this.#workspace, question, query));
  }

  /**
   * Returns this agent on a branch, for interfaces that receive the branch with every call. Throws
   * `unknown_branch`.
   */
  onBranchOf(branch: string): Promise<LocalAgent> {
    return this.#call(async () =>
      this.#onBranch((await requireBranch(this.#workspace, branch)).name),
    );
  }

  /**
   * Calls a listener after a commit that concerns this agent, and returns a function that stops it. A call
   * can be lost: it is a hint, and polling remains necessary.
   */
  onWake(listener: () => void): () => void {
    const { store, name: workspace } = this.#workspace;
    return store.onWake({ workspace, agent: this.id }, listener);
  }

  /** Returns this agent for a call whose token has at least access coordinator. */
  asCoordinator(): LocalAgent {
    return this.#again(this.#workspace, { ...this.#self, isCoordinator: true });
  }

  #onBranch(branch: string): LocalAgent {
    return this.#again({ ...this.#workspace, branch }, this.#self);
  }

  #again(
    workspace: Workspace,
    { instance, lease, isCoordinator }: Pick<Worker, "instance" | "lease" | "isCoordinator">,
  ): LocalAgent {
    const session = { instance, lease, isCoordinator };
    const agent = new LocalAgent(workspace, this.#identity, session);
    agent.context.sawUpTo(this.context.seen); // The session has read it already.
    return agent;
  }

  catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    return this.#call(async () => {
      const waking = { ...this.#self, model: this.info.model };
      const caughtUp = await catchUp(this.#workspace, waking, query);
      this.context.sawUpTo(caughtUp.context);
      return caughtUp;
    });
  }

  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    return this.send<T>(draft);
  }

  handoffMany<T extends object = object>(drafts: readonly DraftOf<T>[]): Promise<Sent<T>[]> {
    return this.#call(async () => {
      const sent = await performHandoffs<T>(this.#workspace, this.#self, drafts);
      return sent.map((each) => new LocalSent<T>(this.#workspace, this.#self, each));
    });
  }

  async *inbox<T = unknown>(options: InboxOptions = {}): AsyncGenerator<Offer<T>, void, undefined> {
    await this.#call(async () => {});
    for await (const claimed of claimFromInbox(this.#workspace, this.#self, options)) {
      yield await LocalOffer.of<T>(this.#workspace, this.#self, claimed);
    }
  }

  accept<T = unknown>(options: AcceptOptions = {}): Promise<LocalWork<T> | undefined> {
    return this.#call(async () => {
      const claimed = await acceptNext(this.#workspace, this.#self, options);
      return claimed && LocalWork.begin<T>(this.#workspace, this.#self, claimed);
    });
  }

  resume<T = unknown>(handle: string): Promise<LocalWork<T>> {
    return this.#call(async () => {
      const held = await resumeWork(this.#workspace, this.#self, handle);
      return this.#work<T>(held, await backgroundOf(this.#workspace, held));
    });
  }

  async work<T = unknown>(
    handler: WorkHandler<T>,
    options: WorkOptions = {},
  ): Promise<WorkSummary> {
    const checked = checkWorkOptions(options, this.#workspace.limits);
    const { task, receipt } = checked;
    const which = { task, receipt, call: this.#call };
    return runWorkLoop(localWorkSource<T>(this.#workspace, this.#self, which), handler, checked);
  }

  /**
   * Claims the next offer, optionally of one task or delivery. Returns undefined if nothing is ready, or when
   * the wait ends.
   */
  claim(which: ClaimFilter, waiting: ClaimWaitOptions): Promise<LocalOffer | undefined> {
    return this.#call(async () => {
      const claimed = await claimNext(this.#workspace, this.#self, which, waiting);
      return claimed && (await LocalOffer.of(this.#workspace, this.#self, claimed));
    });
  }

  /** Returns an offer by its handle. `envelope`: the id of the envelope that the caller knows. */
  offered(handle: string, envelope?: string): Promise<LocalOffer> {
    return this.#call(async () => {
      const known = { state: "claimed" as const, ...(envelope === undefined ? {} : { envelope }) };
      const claimed = await findHeldWork(this.#workspace, this.#self, handle, known);
      return LocalOffer.of(this.#workspace, this.#self, claimed);
    });
  }

  /**
   * Returns accepted work by its handle. `envelope`: the id of the newest envelope that its holder has seen.
   */
  held(handle: string, envelope?: string): Promise<LocalWork> {
    return this.#call(async () => {
      const known = { state: "accepted" as const, ...(envelope === undefined ? {} : { envelope }) };
      return this.#work(await findHeldWork(this.#workspace, this.#self, handle, known));
    });
  }

  /** Sends a handoff; `sending.receivers` limits a publication to these subscribers. */
  send<T extends object>(
    draft: DraftOf<T>,
    sending: Pick<SendOptions, "receivers"> = {},
  ): Promise<Sent<T>> {
    return this.#call(async () => {
      const outcome = await performHandoff<T>(this.#workspace, this.#self, draft, sending);
      if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      return new LocalSent<T>(this.#workspace, this.#self, outcome);
    });
  }

  /** Uses the session that accepted the work, because that session remains its holder. */
  #work<T>(held: DeliveryWithEnvelopeRow, background?: Background): LocalWork<T> {
    const { instance } = held.delivery;
    const reader = { ...this.#workspace.reader, session: instance };
    const holder = { ...this.#self, instance };
    const how = { resumed: true, ...(background && { background }) };
    return new LocalWork<T>({ ...this.#workspace, reader }, holder, held, how);
  }
}
