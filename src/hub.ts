/**
 * The hub: (store, clock, ids, limits) → every operation a door may call. It knows no engine and
 * no wire; openHub() or a test gives it a store.
 */
import * as z from "zod";
import { Agent } from "./agent.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type LineStep, lineOf } from "./delivery/line.ts";
import { systemProcesses } from "./delivery/process.ts";
import { LEASE_KINDS } from "./delivery/worker.ts";
import type { JsonSchema } from "./envelope/json-schema.ts";
import { type PayloadType, PayloadTypes } from "./envelope/payload.ts";
import { DeliveryId, Name } from "./envelope/schema.ts";
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
} from "./memory/agents.ts";
import { type RecentQuery, readMemory, recentMemories } from "./memory/read.ts";
import type { Memory } from "./memory/record.ts";
import type { AttemptRow, EventRow } from "./store/rows.ts";
import type { Books, IndexState, Store, VerifyProgress, VerifyReport } from "./store/store.ts";
import type { Processes, Workspace } from "./store/workspace.ts";

export interface HubOptions {
  readonly workspace?: string;
  /** False: an error where there is no store yet, instead of making one. */
  readonly create?: boolean;
  readonly limits?: Partial<Limits>;
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

  /** Tries of a delivery that ended without completing. */
  async attempts(delivery: string): Promise<readonly AttemptRow[]> {
    const id = parseOr(DeliveryId, delivery, invalid("The delivery", "delivery"));
    return this.#workspace.store.readAttempts(this.#workspace.name, id);
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
