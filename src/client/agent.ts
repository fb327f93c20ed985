/**
 * An agent over HTTP. Most methods are derived from the operations (derive.ts); those that need state or code
 * in this process (receipts, effects, payload schemas, how far the shared context was read) are added here.
 */
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { CatchUp, CatchUpQuery } from "../coordination/catch-up/catch-up.ts";
import {
  type AcceptOptions,
  checkAcceptOptions,
  checkInboxOptions,
  type InboxOptions,
} from "../delivery/receive/receive-options.ts";
import { checkEffect } from "../delivery/work/effect-arguments.ts";
import type { NoteResult } from "../delivery/work/note.ts";
import type { OnceResult } from "../delivery/work/once.ts";
import type { Draft, DraftOf } from "../envelope/schema.ts";
import type { Agent } from "../hub/agent.ts";
import type { AgentBranches } from "../hub/groups/branches.ts";
import type { AgentChannels } from "../hub/groups/channels.ts";
import type { AgentDeadLetters } from "../hub/groups/dead-letters.ts";
import type { AgentDeliveries } from "../hub/groups/deliveries.ts";
import type { Effects } from "../hub/groups/effects.ts";
import type { AgentFailures } from "../hub/groups/failures.ts";
import type { AgentHandoffs } from "../hub/groups/handoffs.ts";
import type { AgentMemories } from "../hub/groups/memories.ts";
import type { Approvals, Questions } from "../hub/groups/questions.ts";
import type { AgentTasks } from "../hub/groups/tasks.ts";
import type { AgentTraces } from "../hub/groups/traces.ts";
import type { Offer } from "../hub/offer.ts";
import type { Sent } from "../hub/sent.ts";
import type { SerializedSent, SerializedWork } from "../hub/serialized.ts";
import type { Work } from "../hub/work.ts";
import type { WorkHandler, WorkSummary } from "../hub/work-loop/work-handler.ts";
import { runWorkLoop } from "../hub/work-loop/work-loop.ts";
import { checkWorkOptions, type WorkOptions } from "../hub/work-loop/work-options.ts";
import type { AgentInfo } from "../memory/agents.ts";
import type { RememberOptions, RememberResult } from "../memory/recall/remember-checked.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import { acceptNext } from "./accept.ts";
import { claimNext } from "./claims.ts";
import { mergeOptions, requireFields } from "./connection/call-options.ts";
import type { Wire } from "./connection/wire.ts";
import { derive } from "./derive.ts";
import { decideWith } from "./failures.ts";
import { RemoteOffer } from "./offer.ts";
import { runOnce } from "./once.ts";
import { withParsedPayload } from "./payloads.ts";
import { RemoteSent } from "./sent.ts";
import type { ClientContext, SessionConnection } from "./session-connection.ts";
import { RemoteSharedContext } from "./shared-context.ts";
import { runSql } from "./sql.ts";
import { memoryLines } from "./streamed-lines.ts";
import { RemoteTraces } from "./traces.ts";
import { withId } from "./with-id.ts";
import { RemoteWork } from "./work.ts";
import { remoteWorkSource } from "./work-source.ts";

/** The session that an agent works in. */
export interface Session {
  readonly instance: string;
  readonly lease: SessionConnection["lease"];
  /** Undefined: the main branch. */
  readonly branch?: string | undefined;
  /** The handles that the session holds; undefined if another process may use the same session. */
  readonly handles: SessionConnection["handles"];
  /** The traces of the same session on another branch, so that steps stay in order. */
  readonly traces?: RemoteTraces | undefined;
}

/** The default branch. */
const MAIN_BRANCH = "main";

/** Implements Agent over HTTP. */
export class RemoteAgent implements Agent {
  readonly #base: ClientContext;
  readonly #session: Session;
  readonly #connection: SessionConnection;
  readonly #wire: Wire;
  readonly info: AgentInfo;
  readonly recall: Agent["recall"];
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
  readonly context: RemoteSharedContext;
  readonly effects: Effects;

  constructor(base: ClientContext, info: AgentInfo, session: Session) {
    const { instance, branch, lease, handles } = session;
    const { ids, payloads } = base;
    const silentMs = lease === "session" ? base.sessionMs : undefined;
    const wire = base.wire.as({ agent: info.id, session: instance, branch, silentMs });
    const traces = session.traces ?? new RemoteTraces(wire, base);
    const derived = derive<Agent>(wire, ["agent", "reader"]);
    const parsed = async <T>(draft: DraftOf<T>): Promise<Draft> =>
      (await withParsedPayload(payloads, draft)) as Draft;
    const send = async <T>(name: string, input: object): Promise<Sent<T>> =>
      new RemoteSent<T>(wire, await wire.call<SerializedSent>(name, input));
    this.#base = base;
    this.#session = { ...session, traces };
    this.#connection = { ...base, wire, info, lease, traces, handles };
    this.#wire = wire;
    this.info = info;
    this.recall = derived.recall;
    this.questions = derived.questions;
    this.context = new RemoteSharedContext(wire, info.role, base.node);
    this.memories = {
      ...derived.memories,
      sql: (query, sql = {}) => runSql(wire, query, sql),
      export: (query = {}) => memoryLines(wire, query),
    };
    this.branches = {
      ...derived.branches,
      create: async (name, options = {}) =>
        this.#onBranch(await wire.call("branches.create", mergeOptions(options, { name }))),
      use: async (name) => this.#onBranch(await wire.call("branches.use", { name })),
    };
    this.traces = { ...derived.traces, flush: () => traces.flush() };
    this.handoffs = {
      ...derived.handoffs,
      preview: async <T extends object>(draft: DraftOf<T>, options = {}) =>
        wire.call("handoffs.preview", mergeOptions(options, { draft: await parsed<T>(draft) })),
      async join(of, given) {
        requireFields(given);
        const { need, ...draft } = given;
        const ids = Array.isArray(of) ? of.map(idOf) : of;
        return send("handoffs.join", { of: ids, draft: await parsed(draft as never), need });
      },
    };
    this.deliveries = {
      ...derived.deliveries,
      note: async (handle, input) => {
        const note = typeof input === "string" ? { content: input } : input;
        return wire.call<NoteResult>("deliveries.note", { handle, note: withId(ids, note) });
      },
    };
    this.deadLetters = {
      ...derived.deadLetters,
      redrive: async (delivery, changes = {}) =>
        derived.deadLetters.redrive(delivery, await withParsedPayload(payloads, changes)),
    };
    this.approvals = {
      ...derived.approvals,
      edit: async (id, changes) =>
        send("approvals.edit", { id, changes: await withParsedPayload(payloads, changes) }),
    };
    this.channels = {
      ...derived.channels,
      publish: async (channel, draft, { receivers } = {}) => {
        const addressed = { ...draft, to: { kind: "channel", channel } };
        return send("handoff", { draft: await parsed(addressed as never), receivers });
      },
    };
    this.tasks = {
      ...derived.tasks,
      async add<T extends object>(given: Parameters<AgentTasks["add"]>[0]) {
        const added = await wire.call<{ task: never; sent: SerializedSent }>("tasks.add", {
          task: await withParsedPayload(payloads, given),
        });
        return { ...added, sent: new RemoteSent<T>(wire, added.sent) };
      },
    };
    this.failures = {
      ...derived.failures,
      decide: (failure, decision) => decideWith({ wire, payloads }, failure, decision),
    };
    this.effects = {
      ...derived.effects,
      async run<T>(key: string, effect: () => Promise<T> | T): Promise<OnceResult<T>> {
        const own = checkEffect(key, effect);
        return runOnce(own.effect, {
          begin: () => derived.effects.begin(own.key),
          record: (result) => derived.effects.record(own.key, result),
        });
      },
    };
  }

  get id(): string {
    return this.info.id;
  }

  get instance(): string {
    return this.#session.instance;
  }

  get branch(): string {
    return this.#session.branch ?? MAIN_BRANCH;
  }

  #onBranch({ name }: { readonly name: string }): Agent {
    const agent = new RemoteAgent(this.#base, this.info, { ...this.#session, branch: name });
    agent.context.sawUpTo(this.context.seen); // The session is the same, so it has read the same versions.
    return agent;
  }

  remember(input: MemoryInput, options?: RememberOptions): Promise<RememberResult>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<RememberResult[]>;
  async remember(
    input: MemoryInput | readonly MemoryInput[],
    options: RememberOptions = {},
  ): Promise<RememberResult | RememberResult[]> {
    const inputs: readonly MemoryInput[] = Array.isArray(input) ? input : [input];
    const memories = inputs.map((each) => withId(this.#base.ids, each));
    const { known } = this.#base;
    const remembered = await this.#wire.call<RememberResult[]>("remember", {
      known,
      ...options,
      memories,
    });
    return Array.isArray(input) ? remembered : (remembered[0] as RememberResult);
  }

  trace(step: TraceStep): Promise<Memory>;
  trace(steps: readonly TraceStep[]): Promise<Memory[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const all = this.#connection.traces.add(many ? step : [step]);
    const traced = many ? all : all.then((memories) => memories[0] as Memory);
    traced.catch(() => {}); // An unhandled trace must not end the process; flush() throws the error.
    return traced;
  }

  async catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    const caughtUp = await this.#wire.call<CatchUp>("catchUp", query);
    this.context.sawUpTo(caughtUp.context);
    return caughtUp;
  }

  async handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    const said = { draft: await withParsedPayload(this.#base.payloads, draft) };
    return new RemoteSent<T>(this.#wire, await this.#wire.call<SerializedSent>("handoff", said));
  }

  async handoffMany<T extends object = object>(drafts: readonly DraftOf<T>[]): Promise<Sent<T>[]> {
    const { payloads } = this.#base;
    const parsed: DraftOf<T>[] = [];
    const isList = Array.isArray(drafts); // The hub refuses anything else.
    for (const [i, draft] of isList ? drafts.entries() : []) {
      parsed.push(await withParsedPayload(payloads, draft, `drafts[${i}]`));
    }
    const input = { drafts: isList ? parsed : drafts };
    const sent = await this.#wire.call<SerializedSent[]>("handoffMany", input);
    return sent.map((each) => new RemoteSent<T>(this.#wire, each));
  }

  async *inbox<T = unknown>(options: InboxOptions = {}): AsyncGenerator<Offer<T>, void, undefined> {
    const { task, ...waiting } = checkInboxOptions(options);
    for (;;) {
      const offer = await claimNext(this.#connection, { task }, waiting);
      if (offer === undefined) return;
      yield new RemoteOffer<T>(this.#connection, offer);
    }
  }

  async accept<T = unknown>(options: AcceptOptions = {}): Promise<Work<T> | undefined> {
    return acceptNext<T>(this.#connection, checkAcceptOptions(options));
  }

  async resume<T = unknown>(handle: string): Promise<Work<T>> {
    const form = await this.#wire.call<SerializedWork>("resume", { handle });
    return new RemoteWork<T>(this.#connectionOf(form.delivery.instance), form);
  }

  async work<T = unknown>(
    handler: WorkHandler<T>,
    options: WorkOptions = {},
  ): Promise<WorkSummary> {
    const checked = checkWorkOptions(options, DEFAULT_LIMITS);
    return runWorkLoop(remoteWorkSource<T>(this.#connection, checked), handler, checked);
  }

  /** Returns a connection for the session that accepted the work, because that session holds the lease. */
  #connectionOf(session: string): SessionConnection {
    if (session === this.instance) return this.#connection;
    const { branch, lease } = this.#session;
    const silentMs = lease === "session" ? this.#base.sessionMs : undefined;
    const wire = this.#base.wire.as({ agent: this.id, session, branch, silentMs });
    return { ...this.#connection, wire, traces: new RemoteTraces(wire, this.#base) };
  }
}

/** Returns the delivery id of a Sent, or the id itself. */
const idOf = (each: unknown): unknown =>
  typeof each === "object" && each !== null && "id" in each ? each.id : each;
