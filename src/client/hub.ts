/**
 * A hub over HTTP. Most methods are derived from the operations (derive.ts); those that need state or code in
 * this process (files, payload schemas, buffered traces, exports) are added here.
 */
import type { Tokens } from "../access/tokens.ts";
import { asyncDispose } from "../base/async-dispose.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { AcceptedOutcome, CompletedOutcome } from "../delivery/watch/await-outcome.ts";
import { checkCompletedOptions, checkWaitOptions } from "../delivery/watch/wait-options.ts";
import { checkValue, idCheck, nameCheck, textCheck } from "../envelope/check-options.ts";
import { schemaText } from "../envelope/schema-text.ts";
import type { StandardSchemaV1 } from "../envelope/standard-schema.ts";
import type { Agent } from "../hub/agent.ts";
import type { HubAgents } from "../hub/groups/agents.ts";
import type { Archive } from "../hub/groups/archive.ts";
import type { HubBranches } from "../hub/groups/branches.ts";
import type { HubChannels, HubRoutes } from "../hub/groups/channels.ts";
import type { HubDeadLetters } from "../hub/groups/dead-letters.ts";
import type { HubDeliveries } from "../hub/groups/deliveries.ts";
import type { Events } from "../hub/groups/events.ts";
import type { HubFailures } from "../hub/groups/failures.ts";
import type { HubHandoffs } from "../hub/groups/handoffs.ts";
import type { HubMemories } from "../hub/groups/memories.ts";
import type { HubPayloadTypes } from "../hub/groups/payload-types.ts";
import type { SearchIndex } from "../hub/groups/search-index.ts";
import type { HubSettings } from "../hub/groups/settings.ts";
import type { HubContext } from "../hub/groups/shared-context.ts";
import type { HubTasks } from "../hub/groups/tasks.ts";
import type { HubTraces } from "../hub/groups/traces.ts";
import type { Hub } from "../hub/hub.ts";
import { checkedSession, filesOption, type SessionOptions } from "../hub/option-checks.ts";
import type { HubOptions } from "../hub/options.ts";
import type { AgentInfo, AgentProfile } from "../memory/agents.ts";
import { sessionNameFor } from "../operations/wire/session-name.ts";
import { RemoteAgent } from "./agent.ts";
import type { Wire } from "./connection/wire.ts";
import { derive } from "./derive.ts";
import { HeldHandles } from "./held-handles.ts";
import { changesOf, waitForAnswer } from "./long-poll.ts";
import { requireNode } from "./needs-node.ts";
import { keyNotSent } from "./options.ts";
import type { ClientContext } from "./session-connection.ts";
import { runSql } from "./sql.ts";
import { auditLines, memoryLines } from "./streamed-lines.ts";

const isDelivery = idCheck("delivery");
const deliveryId = (id: string): string => checkValue(id, isDelivery, "The delivery", "delivery");

/** Implements Hub over HTTP. */
export class RemoteHub implements Hub {
  readonly #base: ClientContext;
  readonly #wire: Wire;
  readonly workspace: string;
  readonly recall: Hub["recall"];
  readonly verify: Hub["verify"];
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
  #closing: Promise<void> | undefined;

  constructor(base: ClientContext, options: HubOptions & { readonly workspace: string }) {
    const { wire, payloads, tally, node } = base;
    const { workspace } = options;
    const files = filesOption(options);
    const derived = derive<Hub>(wire, ["hub", "reader"]);
    this.#base = base;
    this.#wire = wire;
    this.workspace = workspace;
    this.recall = derived.recall;
    this.verify = derived.verify;
    this.agents = derived.agents;
    this.branches = derived.branches;
    this.deadLetters = derived.deadLetters;
    this.channels = derived.channels;
    this.routes = derived.routes;
    this.tasks = derived.tasks;
    this.failures = derived.failures;
    this.context = derived.context;
    this.settings = derived.settings;
    this.tokens = derived.tokens;
    this.events = { ...derived.events, exportAudit: (query = {}) => auditLines(wire, query) };
    this.index = derived.index;
    this.memories = {
      ...derived.memories,
      sql: (query, sql = {}) => runSql(wire, query, sql),
      export: (query = {}) => memoryLines(wire, query),
    };
    /** Counts the steps that this process has traced. */
    this.traces = { ...derived.traces, counts: async () => tally.counts };
    this.handoffs = {
      ...derived.handoffs,
      /** Reads a file of this process's machine. */
      async artifact(path) {
        const named = checkValue(path, textCheck, "The path", "path");
        const { fileArtifact } = await requireNode(node, "hub.handoffs.artifact").files();
        const folder = files === undefined ? undefined : { path: files, dotfiles: true };
        return fileArtifact({ files: folder, limits: DEFAULT_LIMITS }, named);
      },
    };
    this.deliveries = {
      ...derived.deliveries,
      watch: (id, waiting = {}) => changesOf(wire, deliveryId(id), checkWaitOptions(waiting)),
      accepted: async (id, waiting = {}) =>
        waitForAnswer<AcceptedOutcome>(
          wire,
          "deliveries.accepted",
          { id: deliveryId(id) },
          checkWaitOptions(waiting),
        ),
      async completed(id, waiting = {}) {
        const { line, ...wait } = checkCompletedOptions(waiting);
        const input = { id: deliveryId(id), line };
        return waitForAnswer<CompletedOutcome>(wire, "deliveries.completed", input, wait);
      },
    };
    const asAgent = (by: string | undefined): Wire =>
      by === undefined ? wire : wire.as({ agent: by });
    this.payloadTypes = {
      ...derived.payloadTypes,
      /** Parses payloads sent from this process; the schema is not sent to the hub. */
      async define<T>(name: string, schema: StandardSchemaV1<unknown, T>) {
        const type = checkValue(name, nameCheck, "The payload type", "type");
        return payloads.register<T>(type, schema);
      },
      set: async (name, schema, { by } = {}) =>
        asAgent(by).call("payloadTypes.set", { name, schema: JSON.parse(schemaText(schema)) }),
      async delete(name, { by } = {}) {
        await asAgent(by).call("payloadTypes.delete", { name });
      },
    };
    const archive = () => requireNode(node, "hub.archive").archive();
    this.archive = {
      ...derived.archive,
      async *export(exporting = {}) {
        return yield* (await archive()).exportLines(wire, exporting);
      },
      exportTo: async (file, exporting = {}) =>
        (await archive()).exportTo(wire, workspace, file, exporting),
      import: async (source, importing = {}) =>
        (await archive()).importFrom(wire, source, importing),
      backup: async (file, backing = {}) =>
        (await archive()).backupTo(wire, workspace, file, backing),
    };
  }

  /** The hub's address. */
  get store(): string {
    return this.#wire.connection.hub;
  }

  async agent(name: string, profile?: AgentProfile, session: SessionOptions = {}): Promise<Agent> {
    const { instance: named, lease } = checkedSession(session);
    const { ids, bound } = this.#base;
    const instance = sessionNameFor(bound, named ?? ids.mint("session"));
    const handles = named === undefined ? new HeldHandles(instance) : undefined;
    if (profile?.key !== undefined) throw keyNotSent(name);
    const info =
      profile === undefined
        ? await this.#wire.call<AgentInfo>("agents.get", { name })
        : await this.#wire.call<AgentInfo>("agent", { name, profile });
    return new RemoteAgent(this.#base, info, { instance, lease, handles });
  }

  /** Sends buffered traces, ends long polls and closes the client. The hub keeps running. */
  close(): Promise<void> {
    this.#closing ??= this.#base.tally.finish().then(() => this.#wire.connection.close());
    return this.#closing;
  }

  async [asyncDispose](): Promise<void> {
    await this.close();
  }
}
