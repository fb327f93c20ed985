/**
 * `Hub`: everything that a program, the command line, HTTP or MCP can do with a workspace, grouped by noun,
 * as an interface and its local implementation. The implementation takes a store and imports none;
 * `openHub()` chooses one.
 */

import { type AuthenticationRefusal, authenticate, type Bearer } from "../access/authenticate.ts";
import { LocalTokens, type Tokens } from "../access/tokens.ts";
import { systemClock } from "../base/clock.ts";
import { randomIdGenerator } from "../base/ids.ts";
import { resolveLimits } from "../base/limits.ts";
import { createFollowUpHandlers } from "../coordination/follow-up-handlers.ts";
import { processDue } from "../delivery/due/process-due.ts";
import { DueTimers } from "../delivery/due/timers.ts";
import { systemProcesses } from "../delivery/receive/process-identity.ts";
import type { LeaseKind } from "../delivery/receive/worker.ts";
import { checkPolicy } from "../delivery/settings/policy.ts";
import { PayloadTypes } from "../envelope/payload-types.ts";
import { DEFAULT_VERSIONS } from "../envelope/versions.ts";
import { type AgentProfile, agentInfo, registerAgent, requireAgent } from "../memory/agents.ts";
import { closeCallLog, type RecordedCall, recordCall } from "../memory/audit/call-log.ts";
import { WorkspaceEmbeddings } from "../memory/recall/embedding-service.ts";
import { type RecallQuery, type RecallResult, recall } from "../memory/recall/recall.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { drainTraces } from "../memory/traces/trace.ts";
import { witnessedWorkspace } from "../memory/witness.ts";
import type { Store } from "../store/store.ts";
import type { VerifyReport } from "../store/verify-report.ts";
import { ANONYMOUS_READER, MAIN_BRANCH } from "../store/visibility.ts";
import type { FilesFolder, Workspace } from "../workspace/workspace.ts";
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
import { embedderOf, filesFolder, type HubOptions, headSigner, secretMode } from "./options.ts";
import { type VerifyOptions, verifyHub } from "./verify.ts";

/**
 * One workspace of a store, in this process or over HTTP. `openHub()` returns it; close it when done, or
 * declare it with `await using`.
 *
 * ```ts
 * await using hub = await openHub("./team.db");
 * const agent = await hub.agent("writer", { role: "writer" });
 * ```
 */
export interface Hub extends AsyncDisposable {
  /** The address of the store, for display, such as `sqlite /data/hub.db`. */
  readonly store: string;
  /** The name of the workspace. */
  readonly workspace: string;
  /**
   * Returns an agent in a new session, by canonical id or alias. With a profile, registers the agent or
   * updates its registration. Without one, throws `unknown_agent` if the agent does not exist. Throws
   * `alias_taken` if an alias belongs to another agent.
   */
  agent(name: string, profile?: AgentProfile, session?: SessionOptions): Promise<Agent>;
  /**
   * Returns the memories that answer a question, best first, each with the reasons why it matched. Sees what
   * the whole team sees. Default limit: 10.
   */
  recall(question: string, query?: RecallQuery): Promise<RecallResult>;
  /**
   * Reads the whole workspace and compares records with their hashes and signatures, and with heads that were
   * kept outside the store (`expect`). Returns what it found; throws only if the store cannot be read.
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /** Stores buffered trace steps and closes the hub. Later calls throw `store_closed`. */
  close(): Promise<void>;

  /** Registered agents and circuit breakers. */
  readonly agents: HubAgents;
  /** Reads, exports and prunes memories. */
  readonly memories: HubMemories;
  /** Lists and compares branches. */
  readonly branches: HubBranches;
  /** Reads the traces of sessions. */
  readonly traces: HubTraces;
  /** Lints sent handoffs and creates file artifacts. */
  readonly handoffs: HubHandoffs;
  /** Reads, lists and watches deliveries. */
  readonly deliveries: HubDeliveries;
  /** Lists dead letters. */
  readonly deadLetters: HubDeadLetters;
  /** Creates, pauses and closes channels. */
  readonly channels: HubChannels;
  /** Sets the receivers of handoffs that name none. */
  readonly routes: HubRoutes;
  /** Reads tasks, their timelines and ledgers. */
  readonly tasks: HubTasks;
  /** Lists failures and sets failure rules. */
  readonly failures: HubFailures;
  /** The shared context: constraints, conventions, decisions and project facts of the team. */
  readonly context: HubContext;
  /** Settings of the workspace. */
  readonly settings: HubSettings;
  /** Registers schemas for payload types. */
  readonly payloadTypes: HubPayloadTypes;
  /** Issues, lists and revokes access tokens. */
  readonly tokens: Tokens;
  /** The numbered log of the workspace, and its audit records. */
  readonly events: Events;
  /** The state of the search index and of the vectors. */
  readonly index: SearchIndex;
  /** Exports, imports and backups. */
  readonly archive: Archive;
}

/** A hub in this process, on an open store. */
export class LocalHub implements Hub {
  readonly #workspace: Workspace;
  readonly #meaning: WorkspaceEmbeddings;
  readonly #options: HubOptions;
  /** The hub that closes the store; undefined if this one does. */
  #owner: LocalHub | undefined;
  /** Hubs of other workspaces on the same store, closed before it is. */
  readonly #others = new Set<LocalHub>();
  /** Carries out what is due; undefined with an injected clock, because timers use the system's. */
  #timers: DueTimers | undefined;
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
    if (options.clock === undefined) this.#timers = new DueTimers(store);
    this.#timers?.cover(workspace);
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
    this.archive = archive(workspace, headSigner(options));
  }

  /**
   * Returns a hub of another workspace on the same open store, with the same options. The first hub owns the
   * store: closing another one leaves it open, closing the first closes all of them.
   */
  beside(workspace: string): LocalHub {
    const owner = this.#owner ?? this;
    const hub = new LocalHub(this.#workspace.store, { ...this.#options, workspace });
    void hub.#timers?.close();
    hub.#timers = undefined;
    hub.#owner = owner;
    owner.#timers?.cover(hub.#workspace);
    owner.#others.add(hub);
    return hub;
  }

  /** Carries out what is due now, and returns how many timeouts and retries that were. */
  carryOutDue(): Promise<number> {
    return processDue(this.#workspace);
  }

  /** Carries out what is due in all workspaces of the store, for a server of all of them. */
  coverAllWorkspaces(): void {
    const workspace = this.#workspace;
    this.#timers?.coverAll((name) => ({
      ...workspace,
      name,
      root: { workspace: name },
      payloads: new PayloadTypes(),
    }));
  }

  /**
   * Returns the agent and access level of a token, in any workspace of the store, or why the token was
   * refused.
   */
  authenticate(token: string): Promise<Bearer | AuthenticationRefusal> {
    return authenticate(this.#workspace, token);
  }

  /**
   * Records a call that was denied, or that reads what only administrators may: several alike together. Resolves
   * when the first of them is stored.
   */
  recordCall(call: RecordedCall): Promise<void> {
    return recordCall(this.#workspace, call);
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
    const workspace = this.#leasing(lease);
    const seen = identity.signer === undefined ? workspace : witnessedWorkspace(workspace);
    return new LocalAgent(seen, identity, { instance, lease });
  }

  /** How long a lease lasts without renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#workspace.limits.leaseMs;
  }

  /**
   * Returns a registered agent in a session of an HTTP or MCP client. `silentMs`: how long the session can
   * make no calls before its leases end. `files`: the folder that it may compare artifacts with; the folder of
   * this process is not used for callers from outside. Throws `unknown_agent`.
   */
  async local(
    name: string,
    instance: string,
    {
      silentMs,
      files,
    }: { readonly silentMs?: number | undefined; readonly files?: FilesFolder | undefined } = {},
  ): Promise<LocalAgent> {
    const agent = agentInfo(await requireAgent(this.#workspace, name));
    const workspace = { ...this.#leasing("session", silentMs), files };
    return new LocalAgent(workspace, { agent, signer: undefined }, { instance, lease: "session" });
  }

  /** Returns the workspace with the lease time that applies to this kind of lease. */
  #leasing(kind: LeaseKind, silentMs = this.#options.sessionMs): Workspace {
    if (kind === "process" || silentMs === undefined) return this.#workspace;
    return { ...this.#workspace, limits: { ...this.#workspace.limits, leaseMs: silentMs } };
  }

  recall(question: string, query: RecallQuery = {}): Promise<RecallResult> {
    return recall(this.#workspace, question, query);
  }

  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return verifyHub(this.#workspace, options);
  }

  async close(): Promise<void> {
    await this.#timers?.close();
    await Promise.all([...this.#others].map((each) => each.close()));
    await this.#meaning.close();
    await drainTraces(this.#workspace);
    await closeCallLog(this.#workspace);
    if (this.#owner === undefined) return this.#workspace.store.close();
    this.#owner.#timers?.uncover(this.#workspace);
    this.#owner.#others.delete(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
