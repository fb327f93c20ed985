/**
 * The hub: everything a program, the command line, HTTP or MCP can do with a workspace, grouped by noun. It
 * is given a store and knows none of the implementations; `openHub()` chooses one.
 */

import { type AuthenticationRefusal, authenticate, type Bearer } from "../access/authenticate.ts";
import { LocalTokens, type Tokens } from "../access/tokens.ts";
import { systemClock } from "../base/clock.ts";
import { randomIdGenerator } from "../base/ids.ts";
import { resolveLimits } from "../base/limits.ts";
import { createFollowUpHandlers } from "../coordination/follow-up-handlers.ts";
import { systemProcesses } from "../delivery/receive/process-identity.ts";
import type { LeaseKind } from "../delivery/receive/worker.ts";
import { checkPolicy } from "../delivery/settings/policy.ts";
import { PayloadTypes } from "../envelope/payload-types.ts";
import { DEFAULT_VERSIONS } from "../envelope/versions.ts";
import { type AgentProfile, agentInfo, registerAgent, requireAgent } from "../memory/agents.ts";
import { WorkspaceEmbeddings } from "../memory/recall/embedding-service.ts";
import { type RecallQuery, type RecallResult, recall } from "../memory/recall/recall.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { drainTraces } from "../memory/traces/trace.ts";
import type { Store } from "../store/store.ts";
import type { VerifyProgress, VerifyReport } from "../store/verify-report.ts";
import { ANONYMOUS_READER, MAIN_BRANCH } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type Agent, LocalAgent } from "./agent.ts";
import { type HubAgents, hubAgents } from "./groups/agents.ts";
import { type Archive, archive } from "./groups/archive.ts";
import { type HubBranches, hubBranches } from "./groups/branches.ts";
import { type HubChannels, type HubRoutes, hubChannels, hubRoutes } from "./groups/channels.ts";
import { type HubDeadLetters, hubDeadLetters } from "./groups/dead-letters.ts";
import { type HubDeliveries, hubDeliveries } from "./groups/deliveries.ts";
import { type Events, events } from "./groups/events.ts";
import { type HubFailures, hubFailures } from "./groups/failures.ts";
import { type HubHandoffs, hubHandoffs } from "./groups/handoffs.ts";
import { type HubMemories, hubMemories } from "./groups/memories.ts";
import { type HubPayloadTypes, hubPayloadTypes } from "./groups/payload-types.ts";
import { type SearchIndex, searchIndex } from "./groups/search-index.ts";
import { type HubSettings, hubSettings } from "./groups/settings.ts";
import { type HubContext, LocalHubContext } from "./groups/shared-context.ts";
import { type HubTasks, hubTasks } from "./groups/tasks.ts";
import { type HubTraces, hubTraces } from "./groups/traces.ts";
import {
  checkedSession,
  knownMode,
  type SessionOptions,
  sessionTimeout,
  workspaceName,
} from "./option-checks.ts";
import { embedderOf, filesFolder, type HubOptions, secretMode } from "./options.ts";

/** A hub: one workspace of a store, in this process or over HTTP. */
export interface Hub extends AsyncDisposable {
  /** Where everything is stored, for people: `sqlite /data/hub.db`. */
  readonly store: string;
  readonly workspace: string;
  /**
   * Returns an agent by canonical id or alias. With a profile it is registered, or its registration is
   * updated; without one it must exist.
   */
  agent(name: string, profile?: AgentProfile, session?: SessionOptions): Promise<Agent>;
  /** Returns the memories that answer a question, best first, each with the reasons. */
  recall(question: string, query?: RecallQuery): Promise<RecallResult>;
  /** Reads everything and compares it with its hashes and signatures. */
  verify(onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport>;
  /** Stores what was traced, then closes. */
  close(): Promise<void>;

  readonly agents: HubAgents;
  readonly memories: HubMemories;
  readonly branches: HubBranches;
  readonly traces: HubTraces;
  readonly handoffs: HubHandoffs;
  readonly deliveries: HubDeliveries;
  readonly deadLetters: HubDeadLetters;
  readonly channels: HubChannels;
  readonly routes: HubRoutes;
  readonly tasks: HubTasks;
  readonly failures: HubFailures;
  /** The shared context: what the whole team keeps to. */
  readonly context: HubContext;
  readonly settings: HubSettings;
  readonly payloadTypes: HubPayloadTypes;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly index: SearchIndex;
  readonly archive: Archive;
}

export class LocalHub implements Hub {
  readonly #workspace: Workspace;
  readonly #meaning: WorkspaceEmbeddings;
  readonly #options: HubOptions;
  /** The hub that closes the store; undefined: this one. */
  #owner: LocalHub | undefined;
  /** Hubs of other workspaces on the same store, closed before it is. */
  readonly #others = new Set<LocalHub>();
  readonly agents: HubAgents;
  readonly memories: HubMemories;
  readonly branches: HubBranches;
  readonly traces: HubTraces;
  readonly handoffs: HubHandoffs;
  readonly deliveries: HubDeliveries;
  readonly deadLetters: HubDeadLetters;
  readonly channels: HubChannels;
  readonly routes: HubRoutes;
  readonly tasks: HubTasks;
  readonly failures: HubFailures;
  readonly context: HubContext;
  readonly settings: HubSettings;
  readonly payloadTypes: HubPayloadTypes;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly index: SearchIndex;
  readonly archive: Archive;

  constructor(store: Store, options: HubOptions = {}) {
    this.#options = options;
    sessionTimeout(options);
    this.#meaning = new WorkspaceEmbeddings(embedderOf(options));
    const clock = options.clock ?? systemClock;
    const workspace: Workspace = {
      name: workspaceName(options),
      root: this,
      branch: MAIN_BRANCH,
      reader: ANONYMOUS_READER,
      store,
      clock,
      ids: options.ids ?? randomIdGenerator(clock),
      random: options.random ?? Math.random,
      processes: options.processes ?? systemProcesses,
      limits: resolveLimits(options.limits),
      payloads: new PayloadTypes(),
      versions: options.versions ?? DEFAULT_VERSIONS,
      policy: options.policy === undefined ? undefined : checkPolicy(options.policy, "policy"),
      route: options.route,
      duties: createFollowUpHandlers(options.coordinate),
      meaning: this.#meaning,
      known: knownMode(options),
      files: filesFolder(options),
      secrets: secretMode(options),
      summarizer: options.summarizer,
    };
    this.#workspace = workspace;
    this.agents = hubAgents(workspace);
    this.memories = hubMemories(workspace);
    this.branches = hubBranches(workspace);
    this.traces = hubTraces(workspace);
    this.handoffs = hubHandoffs(workspace);
    this.deliveries = hubDeliveries(workspace);
    this.deadLetters = hubDeadLetters(workspace);
    this.channels = hubChannels(workspace);
    this.routes = hubRoutes(workspace);
    this.tasks = hubTasks(workspace);
    this.failures = hubFailures(workspace);
    this.context = new LocalHubContext(workspace);
    this.settings = hubSettings(workspace);
    this.payloadTypes = hubPayloadTypes(workspace);
    this.tokens = new LocalTokens(workspace);
    this.events = events(workspace);
    this.index = searchIndex(workspace);
    this.archive = archive(workspace);
  }

  /**
   * Returns a hub of another workspace on the same open store, with the same options. The first hub owns the
   * store: closing another leaves it open, closing the first closes them all.
   */
  beside(workspace: string): LocalHub {
    const owner = this.#owner ?? this;
    const hub = new LocalHub(this.#workspace.store, { ...this.#options, workspace });
    hub.#owner = owner;
    owner.#others.add(hub);
    return hub;
  }

  /** Returns the agent a token belongs to, in any workspace of the store. */
  authenticate(token: string): Promise<Bearer | AuthenticationRefusal> {
    return authenticate(this.#workspace, token);
  }

  get store(): string {
    return this.#workspace.store.name;
  }

  get workspace(): string {
    return this.#workspace.name;
  }

  async agent(name: string, profile?: AgentProfile, session: SessionOptions = {}): Promise<Agent> {
    const { instance = this.#workspace.ids.mint("session"), lease } = checkedSession(
      await redactSecrets(this.#workspace, session),
    );
    const identity =
      profile === undefined
        ? { agent: agentInfo(await requireAgent(this.#workspace, name)), signer: undefined }
        : await registerAgent(this.#workspace, name, profile);
    return new LocalAgent(this.#leasing(lease), identity, { instance, lease });
  }

  /** How long a lease lasts without renewal. */
  get leaseMs(): number {
    return this.#workspace.limits.leaseMs;
  }

  /** Returns a registered agent in a session of an interface; `silentMs`: how long that may be silent. */
  async local(name: string, instance: string, silentMs?: number): Promise<LocalAgent> {
    const agent = agentInfo(await requireAgent(this.#workspace, name));
    const workspace = this.#leasing("session", silentMs);
    return new LocalAgent(workspace, { agent, signer: undefined }, { instance, lease: "session" });
  }

  /** The workspace with the lease time of this kind of lease. */
  #leasing(kind: LeaseKind, silentMs = this.#options.sessionMs): Workspace {
    if (kind === "process" || silentMs === undefined) return this.#workspace;
    return { ...this.#workspace, limits: { ...this.#workspace.limits, leaseMs: silentMs } };
  }

  recall(question: string, query: RecallQuery = {}): Promise<RecallResult> {
    return recall(this.#workspace, question, query);
  }

  verify(onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport> {
    return this.#workspace.store.verify(this.#workspace.name, onProgress);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#others].map((each) => each.close()));
    await this.#meaning.close();
    await drainTraces(this.#workspace);
    if (this.#owner === undefined) await this.#workspace.store.close();
    else this.#owner.#others.delete(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
