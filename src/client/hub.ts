/**
 * A hub over HTTP: the same shape as one in this process, each method one call of the wire. What is a
 * function of the caller's (payload types, listeners) and what is the caller's own (files, keys) stays
 * at this end.
 */
import * as z from "zod";
import type { BackupOptions, BackupReport } from "../archive/backup.ts";
import type { ExportOptions, ExportReport, ExportToOptions } from "../archive/export.ts";
import type { ImportOptions, ImportReport, ImportSource } from "../archive/import.ts";
import type { KeepingQuery } from "../archive/query.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { LintRules } from "../context/lint/lint-rules.ts";
import { type FileArtifact, fileArtifact } from "../context/view/files.ts";
import type { ReservationsQuery } from "../coordination/reservations/list.ts";
import type { Reservation } from "../coordination/reservations/reservation.ts";
import type { Timeline, TimelineQuery } from "../coordination/timeline/timeline.ts";
import type { LintReport } from "../delivery/send/lint.ts";
import type { BreakerInfo } from "../delivery/settings/breaker.ts";
import type { ChannelInfo, ChannelState } from "../delivery/settings/channels.ts";
import type { HandoffRules, HandoffRulesInput } from "../delivery/settings/handoff-rules.ts";
import type {
  PayloadTypeInfo,
  PayloadTypeVersion,
  RegisterOptions,
} from "../delivery/settings/payload-types.ts";
import type { Route, RouteInfo } from "../delivery/settings/routes.ts";
import type { DeadLetter, DeadQuery } from "../delivery/settle/dead-letters.ts";
import { checkedWait, type WaitOptions } from "../delivery/watch/answers.ts";
import type { Shown } from "../delivery/watch/show.ts";
import type { LineStep } from "../delivery/watch/task-line.ts";
import type { ReadMemory, ReadOptions } from "../delivery/work/read-record.ts";
import type { ShownView } from "../delivery/work/views.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { JsonSchema } from "../envelope/json-schema.ts";
import type { PayloadType } from "../envelope/payload.ts";
import { Name } from "../envelope/schema.ts";
import { schemaText } from "../envelope/schema-check.ts";
import type { StandardSchemaV1 } from "../envelope/standard-schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { deliveryId } from "../history/unknown-delivery.ts";
import type { Agent } from "../hub/agent.ts";
import type { DeliveryRow } from "../hub/forms.ts";
import {
  checkedSession,
  filesFolder,
  type Hub,
  type HubOptions,
  type SessionOptions,
} from "../hub/hub.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { AgentInfo, AgentProfile } from "../memory/agents.ts";
import type { BranchesQuery, BranchInfo } from "../memory/branches/branches.ts";
import type { BranchDiff, DiffQuery } from "../memory/branches/compare.ts";
import type { Impact, ImpactQuery } from "../memory/quarantine/blast-radius.ts";
import type { QuarantinedMemory, QuarantineQuery } from "../memory/quarantine/quarantine.ts";
import type { RecentMemory, RecentQuery } from "../memory/read.ts";
import type { Recalled, RecallQuery } from "../memory/recall/recall.ts";
import type { Memory } from "../memory/record.ts";
import type { FoundSecrets, SecretsQuery } from "../memory/redaction/secrets-found.ts";
import type { SqlAnswer, SqlOptions } from "../memory/sql.ts";
import type { PruneOptions, PruneReport } from "../memory/traces/prune.ts";
import type { RetentionRules } from "../memory/traces/retention.ts";
import type { TraceCounts } from "../memory/traces/trace-log.ts";
import type { TraceInfo, TraceSessionsQuery, TracesQuery } from "../memory/traces/traces.ts";
import type { RoleProfile } from "../profiles/role-profiles.ts";
import type { RoleProfileInfo } from "../profiles/workspace-profiles.ts";
import type { OutputOf } from "../wire/calls.ts";
import { ownSession } from "../wire/own-session.ts";
import { RemoteAgent } from "./agent.ts";
import { besides, withoutListener } from "./besides.ts";
import { RemoteHubFailures } from "./failures.ts";
import { Hands } from "./hands.ts";
import { backupTo, exportLines, exportTo, importFrom, memoryLines } from "./keeping.ts";
import { keyNotSent } from "./options.ts";
import { RemoteHubContext } from "./shared-context.ts";
import { runSql } from "./sql.ts";
import type { Base } from "./station.ts";
import { RemoteTaskBoard } from "./task-queue.ts";
import { RemoteTokens } from "./tokens.ts";
import { changesOf } from "./waiting.ts";
import type { Wire } from "./wire.ts";

type SecretMode = OutputOf<"secretPolicy">["mode"];

const invalid = (what: string, prefix: string) => ({
  code: "invalid_input" as const,
  what,
  prefix,
});

export class RemoteHub implements Hub {
  readonly #base: Base;
  readonly #wire: Wire;
  readonly #files: string | undefined;
  readonly workspace: string;
  readonly context: RemoteHubContext;
  readonly tasks: RemoteTaskBoard;
  readonly failures: RemoteHubFailures;
  readonly tokens: RemoteTokens;
  #closing: Promise<void> | undefined;

  constructor(base: Base, options: HubOptions & { readonly workspace: string }) {
    this.#base = base;
    this.#wire = base.wire;
    this.#files = filesFolder(options);
    this.workspace = options.workspace;
    this.context = new RemoteHubContext(base.wire);
    this.tasks = new RemoteTaskBoard(base.wire);
    this.failures = new RemoteHubFailures(base.wire);
    this.tokens = new RemoteTokens(base.wire);
  }

  /** The hub's address. */
  get store(): string {
    return this.#wire.connection.hub;
  }

  async agent(name: string, profile?: AgentProfile, session: SessionOptions = {}): Promise<Agent> {
    const { instance: named, lease } = checkedSession(session);
    const { ids, bound } = this.#base;
    const instance = ownSession(bound, named ?? ids.mint("session"));
    const hands = named === undefined ? new Hands(instance) : undefined;
    if (profile?.key !== undefined) throw keyNotSent(name);
    const info =
      profile === undefined
        ? await this.#wire.call("getAgent", { name })
        : await this.#wire.call("registerAgent", { name, profile });
    return new RemoteAgent(this.#base, info, { instance, lease, hands });
  }

  agents(): Promise<AgentInfo[]> {
    return this.#wire.call("listAgents", {});
  }

  read(memory: string, options: ReadOptions = {}): Promise<ReadMemory> {
    return this.#wire.call("readMemory", besides(options, { id: memory }));
  }

  recent(query: RecentQuery = {}): Promise<RecentMemory[]> {
    return this.#wire.call("recent", query);
  }

  branches(query: BranchesQuery = {}): Promise<BranchInfo[]> {
    return this.#wire.call("listBranches", query);
  }

  diff(branch: string, query: DiffQuery = {}): Promise<BranchDiff> {
    return this.#wire.call("diffBranch", besides(query, { name: branch }));
  }

  impact(memory: string, query: ImpactQuery = {}): Promise<Impact> {
    return this.#wire.call("impact", besides(query, { id: memory }));
  }

  quarantined(query: QuarantineQuery = {}): Promise<QuarantinedMemory[]> {
    return this.#wire.call("quarantined", query);
  }

  warnings(delivery: string): Promise<readonly Warning[]> {
    return this.#wire.call("deliveryWarnings", { id: delivery });
  }

  recall(question: string, query: RecallQuery = {}): Promise<Recalled> {
    return this.#wire.call("recall", besides(query, { question }));
  }

  async embed(onProgress?: Parameters<Hub["embed"]>[0]): ReturnType<Hub["embed"]> {
    const { progress } = await this.#wire.call("embed", {}, { onProgress, long: true });
    return progress ?? undefined;
  }

  models(): Promise<OutputOf<"models">> {
    return this.#wire.call("models", {});
  }

  async dropModel(model: string): Promise<void> {
    await this.#wire.call("dropModel", { model });
  }

  /** Parses what is sent from this process; the hub does not know of it. */
  async payload<T>(name: string, schema: StandardSchemaV1<unknown, T>): Promise<PayloadType<T>> {
    const type = parseOr(Name, name, invalid("The payload type", "type"));
    return this.#base.payloads.register<T>(type, schema);
  }

  line(task: string): Promise<LineStep[]> {
    return this.#wire.call("line", { task });
  }

  timeline(task: string, query: TimelineQuery = {}): Promise<Timeline> {
    return this.#wire.call("timeline", besides(query, { task }));
  }

  delivery(id: string): Promise<Shown> {
    return this.#wire.call("showDelivery", { id });
  }

  changes(id: string, options: WaitOptions = {}): AsyncGenerator<DeliveryRow, void, undefined> {
    return changesOf(this.#wire, deliveryId(id), checkedWait(options));
  }

  view(delivery: string): Promise<readonly ShownView[]> {
    return this.#wire.call("views", { id: delivery });
  }

  async primer(delivery: string): Promise<string> {
    return (await this.#wire.call("primer", { id: delivery })).text;
  }

  /** A file of this end. */
  async artifact(path: string): Promise<FileArtifact> {
    const named = parseOr(z.string().min(1), path, invalid("The path", "path"));
    return fileArtifact({ files: this.#files, limits: DEFAULT_LIMITS }, named);
  }

  async holder(handle: string): Promise<string> {
    return (await this.#wire.call("holder", { handle })).agent;
  }

  attempts(delivery: string): Promise<OutputOf<"attempts">> {
    return this.#wire.call("attempts", { id: delivery });
  }

  dead(query: DeadQuery = {}): Promise<readonly DeadLetter[]> {
    return this.#wire.call("dead", query);
  }

  breakers(): Promise<BreakerInfo[]> {
    return this.#wire.call("breakers", {});
  }

  async resetBreaker(receiver: string): Promise<void> {
    await this.#wire.call("resetBreaker", { receiver });
  }

  channel(name: string, state?: ChannelState): Promise<ChannelInfo> {
    return this.#wire.call("setChannel", { name, state });
  }

  channels(): Promise<ChannelInfo[]> {
    return this.#wire.call("listChannels", {});
  }

  subscribers(channel: string): Promise<string[]> {
    return this.#wire.call("subscribers", { name: channel });
  }

  async route(name: string, route: Route | undefined): Promise<void> {
    if (route === undefined) await this.#wire.call("dropRoute", { name });
    else await this.#wire.call("setRoute", besides(route, { name }));
  }

  routes(): Promise<RouteInfo[]> {
    return this.#wire.call("listRoutes", {});
  }

  async ledger(task: string): Promise<Ledger | undefined> {
    return (await this.#wire.call("ledger", { task })).ledger ?? undefined;
  }

  releasers(roles?: readonly string[]): Promise<readonly string[]> {
    return roles === undefined
      ? this.#wire.call("releasers", {})
      : this.#wire.call("setReleasers", { roles });
  }

  async secretPolicy(mode?: SecretMode): Promise<SecretMode> {
    const told =
      mode === undefined
        ? await this.#wire.call("secretPolicy", {})
        : await this.#wire.call("setSecretPolicy", { mode });
    return told.mode;
  }

  secretsFound(query: SecretsQuery = {}): Promise<FoundSecrets> {
    return this.#wire.call("secretsFound", query);
  }

  reservations(query: ReservationsQuery = {}): Promise<readonly Reservation[]> {
    return this.#wire.call("reservations", query);
  }

  lint(envelope: string): Promise<LintReport> {
    return this.#wire.call("lintEnvelope", { id: envelope });
  }

  lintRules(rules?: LintRules): Promise<OutputOf<"lintRules">> {
    return rules === undefined
      ? this.#wire.call("lintRules", {})
      : this.#wire.call("setLintRules", { rules });
  }

  async payloadType(
    name: string,
    schema: JsonSchema | undefined,
    { by }: RegisterOptions = {},
  ): Promise<PayloadTypeInfo | undefined> {
    const wire = by === undefined ? this.#wire : this.#wire.as({ agent: by });
    if (schema !== undefined) {
      return wire.call("setPayloadType", { name, schema: JSON.parse(schemaText(schema)) });
    }
    await wire.call("dropPayloadType", { name });
    return undefined;
  }

  payloadTypes(): Promise<PayloadTypeInfo[]> {
    return this.#wire.call("payloadTypes", {});
  }

  payloadTypeVersions(name: string): Promise<PayloadTypeVersion[]> {
    return this.#wire.call("payloadTypeVersions", { name });
  }

  handoffRules(rules?: HandoffRulesInput): Promise<HandoffRules> {
    return rules === undefined
      ? this.#wire.call("handoffRules", {})
      : this.#wire.call("setHandoffRules", { rules });
  }

  async profile(role: string, profile: RoleProfile | undefined): Promise<void> {
    if (profile === undefined) await this.#wire.call("dropProfile", { role });
    else await this.#wire.call("setProfile", { role, profile });
  }

  profiles(): Promise<RoleProfileInfo[]> {
    return this.#wire.call("profiles", {});
  }

  async pause(agent: string): Promise<void> {
    await this.#wire.call("pauseAgent", { name: agent });
  }

  async resume(agent: string): Promise<void> {
    await this.#wire.call("resumeAgent", { name: agent });
  }

  async carryOut(): Promise<void> {
    await this.#wire.call("carryOut", {});
  }

  events(after = 0, limit = 100): Promise<OutputOf<"listEvents">> {
    return this.#wire.call("listEvents", { after, limit });
  }

  sql(query: string, options: SqlOptions = {}): Promise<SqlAnswer> {
    return runSql(this.#wire, query, options);
  }

  traces(query: TracesQuery = {}): Promise<Memory[]> {
    return this.#wire.call("traces", query);
  }

  traceSessions(query: TraceSessionsQuery = {}): Promise<TraceInfo[]> {
    return this.#wire.call("traceSessions", query);
  }

  /** What came of all that was traced through this hub. */
  traceCounts(): TraceCounts {
    return this.#base.tally.counts;
  }

  retention(rules?: RetentionRules): Promise<RetentionRules> {
    return rules === undefined
      ? this.#wire.call("retention", {})
      : this.#wire.call("setRetention", { rules });
  }

  prune(options: PruneOptions = {}): Promise<PruneReport> {
    const { onProgress, rest } = withoutListener(options);
    return this.#wire.call("prune", rest, { onProgress, long: true });
  }

  books(): Promise<OutputOf<"books">> {
    return this.#wire.call("books", {});
  }

  verify(onProgress?: Parameters<Hub["verify"]>[0]): Promise<OutputOf<"verify">> {
    return this.#wire.call("verify", {}, { onProgress, long: true });
  }

  export(options: ExportOptions = {}): AsyncGenerator<string, unknown, undefined> {
    return exportLines(this.#wire, options);
  }

  exportTo(file: string, options: ExportToOptions = {}): Promise<ExportReport> {
    return exportTo(this.#wire, this.workspace, file, options);
  }

  import(source: ImportSource, options: ImportOptions = {}): Promise<ImportReport> {
    return importFrom(this.#wire, source, options);
  }

  exportMemories(query: KeepingQuery = {}): AsyncGenerator<string, void, undefined> {
    return memoryLines(this.#wire, query);
  }

  async exportMarkdown(query: KeepingQuery = {}): Promise<string> {
    return (await this.#wire.call("exportMarkdown", query)).text;
  }

  backup(file: string, options: BackupOptions = {}): Promise<BackupReport> {
    return backupTo(this.#wire, this.workspace, file, options);
  }

  indexState(): Promise<OutputOf<"indexState">> {
    return this.#wire.call("indexState", {});
  }

  /** Stores what was traced, ends what waits, and closes this end. */
  close(): Promise<void> {
    this.#closing ??= this.#base.tally.finish().then(() => this.#wire.connection.close());
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
