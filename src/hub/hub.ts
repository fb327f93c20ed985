/**
 * The hub: (store, clock, ids, limits) → every operation a door may call. It knows no engine and
 * no wire; openHub() or a test gives it a store.
 */

import { resolve } from "node:path";
import * as z from "zod";
import { authenticate, type Bearer, type Refused } from "../access/authenticate.ts";
import { LocalTokens, type Tokens } from "../access/tokens.ts";
import { type BackupOptions, type BackupReport, backupTo } from "../archive/backup.ts";
import {
  type ExportOptions,
  type ExportReport,
  type ExportToOptions,
  exportLines,
  exportToFile,
} from "../archive/export.ts";
import {
  type ImportOptions,
  type ImportReport,
  type ImportSource,
  importExport,
} from "../archive/import.ts";
import { writeDocument } from "../archive/markdown/write.ts";
import { memoryLines } from "../archive/memories.ts";
import type { KeepingQuery } from "../archive/query.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Ids, randomIds } from "../base/ids.ts";
import { checkLimit, FORMAT_LIMITS, type Limits, resolveLimits } from "../base/limits.ts";
import { type LintRules, lintRules, setLintRules } from "../context/lint/lint-rules.ts";
import type { AllLintRules } from "../context/lint/rule.ts";
import { type FileArtifact, fileArtifact } from "../context/view/files.ts";
import { dutiesWith } from "../coordination/duties.ts";
import type { CoordinateFunction } from "../coordination/failures/proposals.ts";
import { type ReservationsQuery, reservations } from "../coordination/reservations/list.ts";
import type { Reservation } from "../coordination/reservations/reservation.ts";
import {
  type Timeline,
  type TimelineQuery,
  timelineOf,
} from "../coordination/timeline/timeline.ts";
import { carryOut } from "../delivery/due/due.ts";
import { systemProcesses } from "../delivery/receive/process.ts";
import { LEASE_KINDS, type LeaseKind } from "../delivery/receive/worker.ts";
import { type LintReport, lintEnvelope } from "../delivery/send/lint.ts";
import { type BreakerInfo, breakers, resetBreaker } from "../delivery/settings/breaker.ts";
import {
  type ChannelInfo,
  type ChannelState,
  channels,
  requireChannel,
  setChannel,
  subscribersOf,
} from "../delivery/settings/channels.ts";
import {
  type HandoffRules,
  type HandoffRulesInput,
  handoffRules,
  setHandoffRules,
} from "../delivery/settings/handoff-rules.ts";
import {
  type PayloadTypeInfo,
  type PayloadTypeVersion,
  payloadTypes,
  payloadTypeVersions,
  type RegisterOptions,
  setPayloadType,
} from "../delivery/settings/payload-types.ts";
import { checkPolicy } from "../delivery/settings/policy.ts";
import {
  dropRoute,
  type Route,
  type RouteInfo,
  routes,
  setRoute,
} from "../delivery/settings/routes.ts";
import { type DeadLetter, type DeadQuery, deadLetters } from "../delivery/settle/dead-letters.ts";
import {
  type AcceptedAnswer,
  awaitAccepted,
  awaitCompleted,
  type CompletedAnswer,
  type CompletedOptions,
  type WaitOptions,
} from "../delivery/watch/answers.ts";
import { followDelivery, type Shown, showDelivery } from "../delivery/watch/show.ts";
import { type LineStep, lineOf } from "../delivery/watch/task-line.ts";
import { primerFor } from "../delivery/work/delivery-primer.ts";
import { type ReadMemory, type ReadOptions, readAsked } from "../delivery/work/read-record.ts";
import { holderOf } from "../delivery/work/resume.ts";
import { type ShownView, viewsOf } from "../delivery/work/views.ts";
import { type Warning, warningsOf } from "../delivery/work/warnings.ts";
import type { JsonSchema } from "../envelope/json-schema.ts";
import { type PayloadType, PayloadTypes } from "../envelope/payload.ts";
import { DeliveryId, Name, type PolicyInput } from "../envelope/schema.ts";
import type { StandardSchemaV1 } from "../envelope/standard-schema.ts";
import { SHIPPED, type Versions } from "../envelope/versions.ts";
import { parseOr } from "../envelope/violations.ts";
import { unknownDelivery } from "../history/unknown-delivery.ts";
import { type Ledger, ledgerOf } from "../ledger/ledger.ts";
import { releasers, setReleasers } from "../ledger/releasers.ts";
import {
  type AgentInfo,
  type AgentProfile,
  agentInfo,
  registerAgent,
  requireAgent,
  setStatus,
} from "../memory/agents.ts";
import { type BranchesQuery, type BranchInfo, listBranches } from "../memory/branches/branches.ts";
import { type BranchDiff, type DiffQuery, diffBranch } from "../memory/branches/compare.ts";
import { type Impact, type ImpactQuery, impactOf } from "../memory/quarantine/blast-radius.ts";
import {
  listQuarantined,
  type QuarantinedMemory,
  type QuarantineQuery,
} from "../memory/quarantine/quarantine.ts";
import { type RecentMemory, type RecentQuery, recentMemories } from "../memory/read.ts";
import { Meaning } from "../memory/recall/meaning.ts";
import { type Recalled, type RecallQuery, recall } from "../memory/recall/recall.ts";
import { KnownModeSchema } from "../memory/recall/search-first.ts";
import type { Memory } from "../memory/record.ts";
import {
  heard,
  SecretModeSchema,
  secretPolicy,
  setSecretPolicy,
} from "../memory/redaction/secret-policy.ts";
import {
  type FoundSecrets,
  type SecretsQuery,
  secretsFound,
} from "../memory/redaction/secrets-found.ts";
import { runSql, type SqlAnswer, type SqlOptions } from "../memory/sql.ts";
import { type PruneOptions, type PruneReport, prune } from "../memory/traces/prune.ts";
import { type RetentionRules, retentionRules, setRetention } from "../memory/traces/retention.ts";
import { drainTraces, traceCounts } from "../memory/traces/trace.ts";
import type { TraceCounts } from "../memory/traces/trace-log.ts";
import {
  type TraceInfo,
  type TraceSessionsQuery,
  type TracesQuery,
  traceSessions,
  traces,
} from "../memory/traces/traces.ts";
import type { RoleProfile } from "../profiles/role-profiles.ts";
import { profiles, type RoleProfileInfo, setProfile } from "../profiles/workspace-profiles.ts";
import type { Embedder } from "../search/embedding/embedder.ts";
import type { AttemptRow, DeliveryRow, EventRow } from "../store/rows.ts";
import type { IndexState, ModelState } from "../store/search.ts";
import { NOBODY, TRUNK } from "../store/sight.ts";
import type { Books, Store } from "../store/store.ts";
import type { VerifyProgress, VerifyReport } from "../store/verify-report.ts";
import type {
  EmbedProgress,
  KnownMode,
  Processes,
  RouteFunction,
  SecretMode,
  Summarizer,
  Workspace,
} from "../workspace/workspace.ts";
import { type Agent, LocalAgent } from "./agent.ts";
import { type HubFailures, LocalHubFailures } from "./failures.ts";
import type { Public } from "./public.ts";
import { type HubContext, LocalHubContext } from "./shared-context.ts";
import { LocalTaskBoard, type TaskBoard } from "./tasks.ts";

export interface HubOptions {
  readonly workspace?: string;
  /** False: an error where there is no store yet, instead of making one. */
  readonly create?: boolean;
  readonly limits?: Partial<Limits>;
  /**
   * How long a session may be silent before its work goes to the next, where somebody thinks between two
   * calls: `limits.leaseMs` unless told. In milliseconds; for agents with `lease: "session"`.
   */
  readonly sessionMs?: number;
  /** How handoffs are tried that say nothing about it. */
  readonly policy?: PolicyInput;
  /** Computes the receiver of a handoff that names none. */
  readonly route?: RouteFunction;
  /** Decides about failures that nobody else decides about; undefined leaves it to the rules. */
  readonly coordinate?: CoordinateFunction;
  /**
   * What compares memories by meaning: the bundled table of words unless told, a server through
   * `httpEmbedder()`, or false for words only.
   */
  readonly embedder?: Embedder | (() => Promise<Embedder>) | false;
  /**
   * Whether `remember` looks first for what is known already: "report" tells, "refuse" refuses to say
   * it again. "ignore" unless told: a look is a search, and an append should be one commit and no more.
   */
  readonly known?: KnownMode;
  /**
   * What is done about keys, passwords and tokens in what is said, before it is stored: "redact" (unless
   * told) puts what it is in place of each, "refuse" refuses the call, "allow" stores them. Where the
   * workspace has a rule of its own, the stricter counts.
   */
  readonly secrets?: SecretMode;
  /**
   * What says long records in fewer words when somebody asks for their summary and nobody has written
   * one: `httpSummarizer()`, or your own. Without one the record's own sentences do.
   */
  readonly summarizer?: Summarizer;
  /**
   * The folder whose files are looked into when a handoff names one by its digest: the current one
   * unless told; false: none.
   */
  readonly files?: string | false;
  /** Of a hub over HTTP: what it is asked with; unless told, what BATON_TOKEN says. */
  readonly token?: string;
  /** Of a hub over HTTP: how long one that is away is waited for, in milliseconds: 30 seconds unless told. */
  readonly patienceMs?: number;
  /** Of a hub over HTTP: what carries requests to it, instead of the network. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** For tests and replays. */
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly random?: () => number;
  readonly processes?: Processes;
  readonly versions?: Versions;
}

const SilentSchema = z
  .int()
  .min(1)
  .max(FORMAT_LIMITS.durationMs, { error: "must be a year at most" });

/** Checked before a store is opened for it. */
export function silence({ sessionMs }: HubOptions, path = "sessionMs"): number | undefined {
  return parseOr(SilentSchema.optional(), sessionMs, invalid("The option", path));
}

const SessionSchema = z.strictObject({
  /** The session's name, when the caller has one for it. */
  instance: Name.optional(),
  /** What the session's leases are bound to: this process, or the session's calls. */
  lease: z.enum(LEASE_KINDS).default("process"),
});

/** How `agent()` is asked. */
export type SessionOptions = z.input<typeof SessionSchema>;

export const checkedSession = (session: SessionOptions): z.output<typeof SessionSchema> =>
  parseOr(SessionSchema, session, { code: "invalid_input", what: "The session" });

/** How a wrong argument is refused. */
const invalid = (what: string, prefix: string) => ({
  code: "invalid_input" as const,
  what,
  prefix,
});

const deliveryId = (id: string): string =>
  parseOr(DeliveryId, id, invalid("The delivery", "delivery"));

/** Loaded when the first question is asked. */
function embedderOf({ embedder }: HubOptions): () => Promise<Embedder | undefined> {
  if (embedder === false) return async () => undefined;
  if (typeof embedder === "function") return embedder;
  if (embedder !== undefined) return async () => embedder;
  return async () => (await import("../search/embedding/word-vectors.ts")).bundledWords();
}

/** Checked before a store is opened for it. */
export function knownMode({ known = "ignore" }: HubOptions): KnownMode {
  return parseOr(KnownModeSchema, known, invalid("The option", "known"));
}

/** Checked before a store is opened for it. */
export function secretMode({ secrets }: HubOptions): SecretMode | undefined {
  return parseOr(SecretModeSchema.optional(), secrets, invalid("The option", "secrets"));
}

const FilesSchema = z.union([z.string().min(1), z.literal(false)], {
  error: "must be a folder, or false",
});

/** Checked before a store is opened for it. */
export function filesFolder({ files = "." }: HubOptions): string | undefined {
  const folder = parseOr(FilesSchema, files, invalid("The option", "files"));
  return folder === false ? undefined : resolve(folder);
}

/** Checked before a store is opened for it. */
export function workspaceName(options: HubOptions): string {
  return parseOr(Name, options.workspace ?? "default", invalid("The workspace", "workspace"));
}

/** A hub, in this process or over HTTP. Who comes in is told only by one that has the store. */
export type Hub = Omit<
  Public<LocalHub>,
  "authenticate" | "awaitAccepted" | "awaitCompleted" | "beside" | "leaseMs" | "local"
>;

export class LocalHub implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #meaning: Meaning;
  readonly #options: HubOptions;
  /** The hub that closes the store; undefined: this one. */
  #owner: LocalHub | undefined;
  /** What stands beside this one, and is closed before the store is. */
  readonly #others = new Set<LocalHub>();
  /** What the whole team shares: for looking, and for who may change it. */
  readonly context: HubContext;
  /** The task queue, for looking. */
  readonly tasks: TaskBoard;
  /** What failed, what was decided about it, and the rules by which the hub does. */
  readonly failures: HubFailures;
  /** What programs elsewhere come in with: issued, listed, revoked. */
  readonly tokens: Tokens;

  constructor(store: Store, options: HubOptions = {}) {
    this.#options = options;
    silence(options);
    this.#meaning = new Meaning(embedderOf(options));
    const clock = options.clock ?? systemClock;
    this.#workspace = {
      name: workspaceName(options),
      root: this,
      branch: TRUNK,
      reader: NOBODY,
      store,
      clock,
      ids: options.ids ?? randomIds(clock),
      random: options.random ?? Math.random,
      processes: options.processes ?? systemProcesses,
      limits: resolveLimits(options.limits),
      payloads: new PayloadTypes(),
      versions: options.versions ?? SHIPPED,
      policy: options.policy === undefined ? undefined : checkPolicy(options.policy, "policy"),
      route: options.route,
      duties: dutiesWith(options.coordinate),
      meaning: this.#meaning,
      known: knownMode(options),
      files: filesFolder(options),
      secrets: secretMode(options),
      summarizer: options.summarizer,
    };
    this.context = new LocalHubContext(this.#workspace);
    this.tasks = new LocalTaskBoard(this.#workspace);
    this.failures = new LocalHubFailures(this.#workspace);
    this.tokens = new LocalTokens(this.#workspace);
  }

  /**
   * Another workspace of the same open store, with the same options. The first hub owns the store:
   * closing another leaves it open, closing the first closes them all.
   */
  beside(workspace: string): LocalHub {
    const owner = this.#owner ?? this;
    const hub = new LocalHub(this.#workspace.store, { ...this.#options, workspace });
    hub.#owner = owner;
    owner.#others.add(hub);
    return hub;
  }

  /** Whose token it is, of any workspace of the store. */
  authenticate(token: string): Promise<Bearer | Refused> {
    return authenticate(this.#workspace, token);
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
    const { instance = this.#workspace.ids.mint("session"), lease } = checkedSession(
      await heard(this.#workspace, session),
    );
    const identity =
      profile === undefined
        ? { agent: agentInfo(await requireAgent(this.#workspace, name)), signer: undefined }
        : await registerAgent(this.#workspace, name, profile);
    return new LocalAgent(this.#leasing(lease), identity, { instance, lease });
  }

  /** How long a holder may be silent before its work goes to the next. */
  get leaseMs(): number {
    return this.#workspace.limits.leaseMs;
  }

  /** A registered agent in a session that a door knows of, and that may be silent for so long. */
  async local(name: string, instance: string, silentMs?: number): Promise<LocalAgent> {
    const agent = agentInfo(await requireAgent(this.#workspace, name));
    const workspace = this.#leasing("session", silentMs);
    return new LocalAgent(workspace, { agent, signer: undefined }, { instance, lease: "session" });
  }

  /** Where leases last as long as those of this kind do. */
  #leasing(kind: LeaseKind, silentMs = this.#options.sessionMs): Workspace {
    if (kind === "process" || silentMs === undefined) return this.#workspace;
    return { ...this.#workspace, limits: { ...this.#workspace.limits, leaseMs: silentMs } };
  }

  async agents(): Promise<AgentInfo[]> {
    return (await this.#workspace.store.listAgents(this.#workspace.name)).map(agentInfo);
  }

  /** A record by its id, exactly as it is; with `freshest` what holds in its place. */
  async read(memory: string, options: ReadOptions = {}): Promise<ReadMemory> {
    return readAsked(this.#workspace, memory, options);
  }

  /** The newest memories of a task, agent, session, tag or type. */
  recent(query: RecentQuery = {}): Promise<RecentMemory[]> {
    return recentMemories(this.#workspace, query);
  }

  /** Branches in the order of their names; a page at a time. */
  async branches(query: BranchesQuery = {}): Promise<BranchInfo[]> {
    return listBranches(this.#workspace, query);
  }

  /** What was written on a branch, what that replaces, and what stands in the way of merging it. */
  async diff(branch: string, query: DiffQuery = {}): Promise<BranchDiff> {
    return diffBranch(this.#workspace, branch, query);
  }

  /** All that came of a memory: records, handoffs that carried it, agents that saw it. */
  async impact(memory: string, query: ImpactQuery = {}): Promise<Impact> {
    return impactOf(this.#workspace, memory, query);
  }

  /** What is quarantined, by whom and why; a page at a time. */
  async quarantined(query: QuarantineQuery = {}): Promise<QuarantinedMemory[]> {
    return listQuarantined(this.#workspace, query);
  }

  /** What a delivery carries that is quarantined. */
  async warnings(delivery: string): Promise<readonly Warning[]> {
    const { store, name } = this.#workspace;
    const found = await store.findDelivery(name, deliveryId(delivery));
    if (found === undefined) throw unknownDelivery(delivery);
    return warningsOf(this.#workspace, found);
  }

  /** The memories that answer a question, best first, each with why. */
  recall(question: string, query: RecallQuery = {}): Promise<Recalled> {
    return recall(this.#workspace, question, query);
  }

  /** Gives every memory its vector; undefined without an embedder. Goes on where it stopped. */
  embed(onProgress?: (progress: EmbedProgress) => void): Promise<EmbedProgress | undefined> {
    return this.#meaning.embedAll(this.#workspace, onProgress);
  }

  /** The models whose vectors are kept, and how far each has come. */
  models(): Promise<readonly ModelState[]> {
    return this.#workspace.store.listModels(this.#workspace.name);
  }

  /** Takes the vectors of a model away, when another has taken its place. */
  dropModel(model: string): Promise<void> {
    const name = parseOr(z.string().min(1), model, invalid("The model", "model"));
    return this.#workspace.store.dropModel(this.#workspace.name, name);
  }

  /**
   * Parses payloads of a type in this process, by any Standard Schema: with defaults, transforms and the
   * TypeScript type of what it returns. Other processes do not know of it: see `payloadType()`.
   */
  async payload<T>(name: string, schema: StandardSchemaV1<unknown, T>): Promise<PayloadType<T>> {
    return this.#workspace.payloads.register<T>(
      parseOr(Name, name, invalid("The payload type", "type")),
      schema,
    );
  }

  /** A task's envelopes in the order they were sent, each with where it stands. */
  async line(task: string): Promise<LineStep[]> {
    return lineOf(this.#workspace, parseOr(Name, task, invalid("The task", "task")));
  }

  /** What happened to a task, in order: who did what, with whom and why, also what nobody wrote down. */
  async timeline(task: string, query: TimelineQuery = {}): Promise<Timeline> {
    return timelineOf(this.#workspace, task, query);
  }

  /** One delivery as it stands, with its envelope, every try, and what came of it. */
  async delivery(id: string): Promise<Shown> {
    return showDelivery(this.#workspace, deliveryId(id));
  }

  /** A delivery each time it has changed, first as it is now, until it is settled. */
  changes(id: string, options: WaitOptions = {}): AsyncGenerator<DeliveryRow, void, undefined> {
    return followDelivery(this.#workspace, deliveryId(id), options);
  }

  /** Until somebody has accepted a delivery, or never will: for doors, whose callers have its id. */
  async awaitAccepted(id: string, options: WaitOptions): Promise<AcceptedAnswer> {
    return awaitAccepted(this.#workspace, deliveryId(id), options);
  }

  /** Until a delivery is over, or its receiver asks back. */
  async awaitCompleted(id: string, options: CompletedOptions): Promise<CompletedAnswer> {
    return awaitCompleted(this.#workspace, deliveryId(id), options);
  }

  /** What every holder of a delivery was shown, rendered again from the records. */
  async view(delivery: string): Promise<readonly ShownView[]> {
    return viewsOf(this.#workspace, deliveryId(delivery));
  }

  /** What to know before the first step of a delivery, in less than two kilobytes; at any time. */
  async primer(delivery: string): Promise<string> {
    return primerFor(this.#workspace, deliveryId(delivery));
  }

  /** A file of the hub's folder as an artifact of a handoff, with the digest of what is in it now. */
  async artifact(path: string): Promise<FileArtifact> {
    const named = parseOr(z.string().min(1), path, invalid("The path", "path"));
    return fileArtifact(this.#workspace, named);
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

  /** What follows a task to its end: its original intent, its musts, its open decisions, its releases. */
  async ledger(task: string): Promise<Ledger | undefined> {
    return ledgerOf(this.#workspace, parseOr(Name, task, invalid("The task", "task")));
  }

  /** The roles that may release what others have set; with an argument, from now on these. */
  releasers(roles?: readonly string[]): Promise<readonly string[]> {
    return roles === undefined ? releasers(this.#workspace) : setReleasers(this.#workspace, roles);
  }

  /** What is done about secrets in what is said; with an argument, in this workspace from now on that. */
  secretPolicy(mode?: SecretMode): Promise<SecretMode> {
    return mode === undefined
      ? secretPolicy(this.#workspace)
      : setSecretPolicy(this.#workspace, mode);
  }

  /** Where secrets were taken out of what was stored: of which kind, when, by whom; a page at a time. */
  secretsFound(query: SecretsQuery = {}): Promise<FoundSecrets> {
    return secretsFound(this.#workspace, query);
  }

  /** What is reserved now, and by whom; a page at a time. */
  async reservations(query: ReservationsQuery = {}): Promise<readonly Reservation[]> {
    return reservations(this.#workspace, query);
  }

  /** What could be better about a handoff that was sent, by what holds now. */
  async lint(envelope: string): Promise<LintReport> {
    return lintEnvelope(this.#workspace, envelope);
  }

  /** How the rules of the lint count here; given some, these from now on. "refuse" stops a handoff. */
  lintRules(rules?: LintRules): Promise<AllLintRules> {
    return rules === undefined ? lintRules(this.#workspace) : setLintRules(this.#workspace, rules);
  }

  /**
   * Registers a payload type in the workspace, by a JSON Schema: every process refuses a handoff whose payload
   * does not fit, within a second. A changed schema becomes a new version; undefined removes the type.
   */
  payloadType(
    name: string,
    schema: JsonSchema | undefined,
    options: RegisterOptions = {},
  ): Promise<PayloadTypeInfo | undefined> {
    return setPayloadType(this.#workspace, name, schema, options);
  }

  /** Returns the payload types registered in the workspace, each with the schema that is enforced. */
  payloadTypes(): Promise<PayloadTypeInfo[]> {
    return payloadTypes(this.#workspace);
  }

  /** Returns every version of a payload type, oldest first, also after it was removed. */
  payloadTypeVersions(name: string): Promise<PayloadTypeVersion[]> {
    return payloadTypeVersions(this.#workspace, name);
  }

  /** Returns the allowed actions and whether unregistered payload types are accepted; given rules, sets them. */
  handoffRules(rules?: HandoffRulesInput): Promise<HandoffRules> {
    return rules === undefined
      ? handoffRules(this.#workspace)
      : setHandoffRules(this.#workspace, rules);
  }

  /** What a role looks for, over what comes with Baton; undefined takes that back. */
  profile(role: string, profile: RoleProfile | undefined): Promise<void> {
    return setProfile(this.#workspace, role, profile);
  }

  /** What every described role looks for. */
  profiles(): Promise<RoleProfileInfo[]> {
    return profiles(this.#workspace);
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

  /**
   * One read-only query over the views of the workspace (docs/SQL.md), of what the whole team sees.
   * Anything else is refused.
   */
  async sql(query: string, options: SqlOptions = {}): Promise<SqlAnswer> {
    return runSql(this.#workspace, query, options);
  }

  /** The newest steps that agents traced, of a session, a task or an agent, in order. */
  traces(query: TracesQuery = {}): Promise<Memory[]> {
    return traces(this.#workspace, query);
  }

  /** The sessions that left a trace, the one heard of last first. */
  traceSessions(query: TraceSessionsQuery = {}): Promise<TraceInfo[]> {
    return traceSessions(this.#workspace, query);
  }

  /** What came of all that was traced by agents of this hub. */
  traceCounts(): TraceCounts {
    return traceCounts(this.#workspace);
  }

  /** How long traces and events are kept; given rules, from now on by these. */
  retention(rules?: RetentionRules): Promise<RetentionRules> {
    return rules === undefined
      ? retentionRules(this.#workspace)
      : setRetention(this.#workspace, rules);
  }

  /** Carries out the rules of retention, in the hub's own name; without rules nothing goes. */
  prune(options: PruneOptions = {}): Promise<PruneReport> {
    return prune(this.#workspace, undefined, options);
  }

  /** How many deliveries are in which state. */
  books(): Promise<Books> {
    return this.#workspace.store.countDeliveries(this.#workspace.name);
  }

  /** Reads everything and compares it with its hashes and signatures. */
  verify(onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport> {
    return this.#workspace.store.verify(this.#workspace.name, onProgress);
  }

  /**
   * Everything the workspace holds, of one moment, as lines of text (with their ends): private
   * records, work that is held, all of it. Ends early when whoever reads stops.
   */
  export(options: ExportOptions = {}): AsyncGenerator<string, unknown, undefined> {
    return exportLines(this.#workspace, options);
  }

  /** The same into a file, which appears when it is complete. */
  exportTo(file: string, options: ExportToOptions = {}): Promise<ExportReport> {
    return exportToFile(this.#workspace, file, options);
  }

  /** An export becomes this workspace: all of it, verified, or nothing. A path, or its lines. */
  import(source: ImportSource, options: ImportOptions = {}): Promise<ImportReport> {
    return importExport(this.#workspace, source, options);
  }

  /** Memories that the whole team sees, as lines of text, for reading: not for importing. */
  exportMemories(query: KeepingQuery = {}): AsyncGenerator<string, void, undefined> {
    return memoryLines(this.#workspace, query);
  }

  /** What the team knows, and still holds, as a document for people (MEMORY.md). */
  exportMarkdown(query: KeepingQuery = {}): Promise<string> {
    return writeDocument(this.#workspace, query);
  }

  /**
   * A backup, while everybody works on: a verified copy of the whole store where it is a file, else
   * the export of this workspace. `restore()` makes a store of it.
   */
  backup(file: string, options: BackupOptions = {}): Promise<BackupReport> {
    return backupTo(this.#workspace, file, options);
  }

  /** How far the index has come; records beyond it are scanned. */
  indexState(): Promise<IndexState> {
    return this.#workspace.store.indexState();
  }

  /** Stores what was traced, then closes. */
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
