/**
 * An agent at work: everything one registered identity can do in one session. The everyday calls are
 * methods, the rest is grouped by noun. Every call passes `#call`, because calls keep a session alive.
 */
import { type CatchUp, type CatchUpQuery, catchUp } from "../coordination/catch-up/catch-up.ts";
import { acceptNext } from "../delivery/receive/accept.ts";
import { type ClaimFilter, claimNext } from "../delivery/receive/claim-next.ts";
import { claimFromInbox } from "../delivery/receive/inbox.ts";
import type { AcceptOptions, InboxOptions } from "../delivery/receive/receive-options.ts";
import { withSessionRenewal } from "../delivery/receive/session-renewal.ts";
import type { ClaimWaitOptions } from "../delivery/receive/wait-for-delivery.ts";
import type { LeaseKind, Worker } from "../delivery/receive/worker.ts";
import { performHandoff } from "../delivery/send/handoff.ts";
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
import { LocalOffer, type Offer } from "./offer.ts";
import { LocalSent, type Sent } from "./sent.ts";
import { LocalWork, type Work } from "./work.ts";

/** An agent in one session, in this process or over HTTP. */
export interface Agent {
  /** The canonical id, whichever alias was used. */
  readonly id: string;
  readonly info: AgentInfo;
  /** The session: several sessions of one agent have their own leases and private records. */
  readonly instance: string;
  /** The branch it reads and writes; "main" by default. */
  readonly branch: string;

  /**
   * Remembers one memory, or several at once (all or none). With `known: "report"` also returns what is
   * known already; with "refuse" throws instead of storing the same again.
   */
  remember(input: MemoryInput, options?: RememberOptions): Promise<RememberResult>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<RememberResult[]>;
  /** Returns the memories that answer a question, best first, each with the reasons. */
  recall(question: string, query?: RecallQuery): Promise<RecallResult>;
  /** Returns what to know when starting: open handoffs, pins, shared context, recent records. */
  catchUp(query?: CatchUpQuery): Promise<CatchUp>;
  /**
   * Records steps on this session's trace: not recalled, searchable, pruned by retention. Buffered and
   * stored a few milliseconds later; `traces.flush` waits until all of it is stored.
   */
  trace(step: TraceStep): Promise<WithSecrets<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<WithSecrets<Memory>[]>;

  /** Hands a task over. Once it returns, the handoff and everything it needs is on disk. */
  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>>;
  /**
   * Yields offers as they arrive, to this agent and to its role. Each is claimed for this session; one
   * that is neither accepted nor released counts as an attempt when its lease ends.
   */
  inbox<T = unknown>(options?: InboxOptions): AsyncGenerator<Offer<T>, void, undefined>;
  /**
   * Claims and accepts the next handoff (of a task, or one by id). With `wait: true` waits for one until
   * the signal aborts or the hub closes; else returns undefined when there is none.
   */
  accept<T = unknown>(options?: AcceptOptions): Promise<Work<T> | undefined>;
  /** Continues accepted work by its `handle`, also in another process. */
  resume<T = unknown>(handle: string): Promise<Work<T>>;

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
  /** The shared context: what the whole team keeps to. */
  readonly context: SharedContext;
  readonly effects: Effects;
}

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
    session: { readonly instance: string; readonly lease: LeaseKind },
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
    traced.catch(() => {}); // Tracing alone never ends a process; flush tells of it.
    return traced;
  }

  recall(question: string, query: RecallQuery = {}): Promise<RecallResult> {
    return this.#call(() => recall(this.#workspace, question, query));
  }

  /** This agent on a branch, for interfaces that get its name with every call. */
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

  /** The next offer, of this task or this one; undefined when there is none, or the wait was ended. */
  claim(which: ClaimFilter, waiting: ClaimWaitOptions): Promise<LocalOffer | undefined> {
    return this.#call(async () => {
      const claimed = await claimNext(this.#workspace, this.#self, which, waiting);
      return claimed && (await LocalOffer.of(this.#workspace, this.#self, claimed));
    });
  }

  /** An offer by its handle. */
  offered(handle: string, envelope?: string): Promise<LocalOffer> {
    return this.#call(async () => {
      const known = { state: "claimed" as const, ...(envelope === undefined ? {} : { envelope }) };
      const claimed = await findHeldWork(this.#workspace, this.#self, handle, known);
      return LocalOffer.of(this.#workspace, this.#self, claimed);
    });
  }

  /** Accepted work by its handle, as its holder knows it: told of everything up to this envelope. */
  held(handle: string, envelope?: string): Promise<LocalWork> {
    return this.#call(async () => {
      const known = { state: "accepted" as const, ...(envelope === undefined ? {} : { envelope }) };
      return this.#work(await findHeldWork(this.#workspace, this.#self, handle, known));
    });
  }

  /** Hands over, to these receivers where it is a publication. */
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

  /** In the name of the session that accepted it: whose work it is does not change. */
  #work<T>(held: DeliveryWithEnvelopeRow, background?: Background): LocalWork<T> {
    const { instance } = held.delivery;
    const reader = { ...this.#workspace.reader, session: instance };
    const holder = { ...this.#self, instance };
    const how = { resumed: true, ...(background && { background }) };
    return new LocalWork<T>({ ...this.#workspace, reader }, holder, held, how);
  }
}
