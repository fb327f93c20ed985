/**
 * The hub: (store, clock, ids, limits) → every operation a door may call. It knows no engine and
 * no wire; openHub() or a test gives it a store.
 */
import * as z from "zod";
import { Agent } from "./agent.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type BreakerInfo, breakers, resetBreaker } from "./delivery/breaker.ts";
import {
  type ChannelInfo,
  type ChannelState,
  channels,
  requireChannel,
  setChannel,
  subscribersOf,
} from "./delivery/channels.ts";
import { type DeadLetter, type DeadQuery, deadLetters } from "./delivery/dead.ts";
import { carryOut } from "./delivery/due.ts";
import { type LineStep, lineOf } from "./delivery/line.ts";
import { checkPolicy } from "./delivery/policy.ts";
import { systemProcesses } from "./delivery/process.ts";
import { holderOf } from "./delivery/resume.ts";
import { dropRoute, type Route, type RouteInfo, routes, setRoute } from "./delivery/routes.ts";
import type { WaitOptions } from "./delivery/sent.ts";
import { followDelivery, type Shown, showDelivery } from "./delivery/show.ts";
import { LEASE_KINDS } from "./delivery/worker.ts";
import type { JsonSchema } from "./envelope/json-schema.ts";
import { type PayloadType, PayloadTypes } from "./envelope/payload.ts";
import { DeliveryId, Name, type PolicyInput } from "./envelope/schema.ts";
import type { StandardSchemaV1 } from "./envelope/standard-schema.ts";
import { parseOr } from "./envelope/violations.ts";
import { type Ids, randomIds } from "./ids.ts";
import { checkLimit, type Limits, resolveLimits } from "./limits.ts";
import {
  type AgentInfo,
  type AgentProfile,
  agentInfo,
  registerAgent,
  requireAgent,
  setStatus,
} from "./memory/agents.ts";
import { type RecentQuery, readMemory, recentMemories } from "./memory/read.ts";
import type { Memory } from "./memory/record.ts";
import type { AttemptRow, DeliveryRow, EventRow } from "./store/rows.ts";
import type { Books, IndexState, Store, VerifyProgress, VerifyReport } from "./store/store.ts";
import type { Processes, RouteFunction, Workspace } from "./store/workspace.ts";

export interface HubOptions {
  readonly workspace?: string;
  /** False: an error where there is no store yet, instead of making one. */
  readonly create?: boolean;
  readonly limits?: Partial<Limits>;
  /** How handoffs are tried that say nothing about it. */
  readonly policy?: PolicyInput;
  /** Computes the receiver of a handoff that names none. */
  readonly route?: RouteFunction;
  /** For tests and replays. */
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly random?: () => number;
  readonly processes?: Processes;
}

const SessionSchema = z.strictObject({
  /** The session's name, when the caller has one for it. */
  instance: Name.optional(),
  /** What the session's leases are bound to: this process, or the session's calls. */
  lease: z.enum(LEASE_KINDS).default("process"),
});

/** How `agent()` is asked. */
export type SessionOptions = z.input<typeof SessionSchema>;

/** How a wrong argument is refused. */
const invalid = (what: string, prefix: string) => ({
  code: "invalid_input" as const,
  what,
  prefix,
});

const deliveryId = (id: string): string =>
  parseOr(DeliveryId, id, invalid("The delivery", "delivery"));

/** Checked before a store is opened for it. */
export function workspaceName(options: HubOptions): string {
  return parseOr(Name, options.workspace ?? "default", invalid("The workspace", "workspace"));
}

export class Hub implements AsyncDisposable {
  readonly #workspace: Workspace;

  constructor(store: Store, options: HubOptions = {}) {
    const clock = options.clock ?? systemClock;
    this.#workspace = {
      name: workspaceName(options),
      branch: "main",
      store,
      clock,
      ids: options.ids ?? randomIds(clock),
      random: options.random ?? Math.random,
      processes: options.processes ?? systemProcesses,
      limits: resolveLimits(options.limits),
      payloads: new PayloadTypes(),
      policy: options.policy === undefined ? undefined : checkPolicy(options.policy, "policy"),
      route: options.route,
    };
  }

  /** Where everything is kept. */
  get store(): string {
    return this.#workspace.store.name;
  }

  get workspace(): string {
    return this.#workspace.name;
  }

  /**
   * An agent by canonical id or alias. With a profile it is registered, or what is known of it is
   * added to; without one it must exist.
   */
  async agent(name: string, profile?: AgentProfile, session: SessionOptions = {}): Promise<Agent> {
    const { instance = this.#workspace.ids.mint("session"), lease } = parseOr(
      SessionSchema,
      session,
      { code: "invalid_input", what: "The session" },
    );
    const identity =
      profile === undefined
        ? { agent: agentInfo(await requireAgent(this.#workspace, name)), signer: undefined }
        : await registerAgent(this.#workspace, name, profile);
    return new Agent(this.#workspace, identity, { instance, lease });
  }

  async agents(): Promise<AgentInfo[]> {
    return (await this.#workspace.store.listAgents(this.#workspace.name)).map(agentInfo);
  }

  read(memory: string): Promise<Memory> {
    return readMemory(this.#workspace, memory);
  }

  /** The newest memories of a task, agent, session, tag or type. */
  recent(query: RecentQuery = {}): Promise<Memory[]> {
    return recentMemories(this.#workspace, query);
  }

  /** Registers a payload type with any Standard Schema or a JSON Schema. */
  async payload<T>(
    name: string,
    schema: StandardSchemaV1<unknown, T> | JsonSchema,
  ): Promise<PayloadType<T>> {
    return this.#workspace.payloads.register<T>(
      parseOr(Name, name, invalid("The payload type", "type")),
      schema,
    );
  }

  /** A task's envelopes in the order they were sent, each with where it stands. */
  async line(task: string): Promise<LineStep[]> {
    return lineOf(this.#workspace, parseOr(Name, task, invalid("The task", "task")));
  }

  /** One delivery as it stands, with its envelope, every try, and what came of it. */
  async delivery(id: string): Promise<Shown> {
    return showDelivery(this.#workspace, deliveryId(id));
  }

  /** A delivery each time it has changed, first as it is now, until it is settled. */
  changes(id: string, options: WaitOptions = {}): AsyncGenerator<DeliveryRow, void, undefined> {
    return followDelivery(this.#workspace, deliveryId(id), options);
  }

  /** Who has the work of a handle. */
  holder(handle: string): Promise<string> {
    return holderOf(this.#workspace, handle);
  }

  /** Tries of a delivery that ended without completing. */
  async attempts(delivery: string): Promise<readonly AttemptRow[]> {
    return this.#workspace.store.readAttempts(this.#workspace.name, deliveryId(delivery));
  }

  /** Dead letters, with every try. */
  dead(query: DeadQuery = {}): Promise<readonly DeadLetter[]> {
    return deadLetters(this.#workspace, query);
  }

  /** Receivers that lost work lately: whose breaker is open, and since which deliveries. */
  breakers(): Promise<BreakerInfo[]> {
    return breakers(this.#workspace);
  }

  /** Closes a receiver's breaker. */
  resetBreaker(receiver: string): Promise<void> {
    return resetBreaker(this.#workspace, receiver);
  }

  /** Makes a channel if there is none, or opens, pauses or closes it. */
  channel(name: string, state?: ChannelState): Promise<ChannelInfo> {
    return setChannel(this.#workspace, name, state);
  }

  channels(): Promise<ChannelInfo[]> {
    return channels(this.#workspace);
  }

  async subscribers(channel: string): Promise<string[]> {
    await requireChannel(this.#workspace, channel);
    return subscribersOf(this.#workspace, channel);
  }

  /** Who comes next when a sender names nobody: one rule of the table, or none any more. */
  route(name: string, route: Route | undefined): Promise<void> {
    return route === undefined
      ? dropRoute(this.#workspace, name)
      : setRoute(this.#workspace, name, route);
  }

  routes(): Promise<RouteInfo[]> {
    return routes(this.#workspace);
  }

  /** An agent keeps its inbox and is given nothing from it, until it is resumed. */
  async pause(agent: string): Promise<void> {
    const { status } = await requireAgent(this.#workspace, agent);
    if (status === "active") await setStatus(this.#workspace, agent, "paused");
  }

  async resume(agent: string): Promise<void> {
    const { status } = await requireAgent(this.#workspace, agent);
    if (status === "paused") await setStatus(this.#workspace, agent, "active");
  }

  /** Carries out what is due now: whoever waits for work does this too. */
  carryOut(): Promise<void> {
    return carryOut(this.#workspace);
  }

  /** What happened after event `after`, oldest first. */
  async events(after = 0, limit = 100): Promise<readonly EventRow[]> {
    const from = parseOr(z.int().min(0), after, invalid("The event number", "after"));
    const most = parseOr(z.int().positive(), limit, invalid("The limit", "limit"));
    checkLimit(this.#workspace.limits, "pageSize", { actual: most, path: "limit" });
    return this.#workspace.store.readEvents(this.#workspace.name, from, most);
  }

  /** How many deliveries are in which state. */
  books(): Promise<Books> {
    return this.#workspace.store.countDeliveries(this.#workspace.name);
  }

  /** Reads everything and compares it with its hashes and signatures. */
  verify(onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport> {
    return this.#workspace.store.verify(this.#workspace.name, onProgress);
  }

  /** How far the index has come; records beyond it are scanned. */
  indexState(): Promise<IndexState> {
    return this.#workspace.store.indexState();
  }

  close(): Promise<void> {
    return this.#workspace.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
