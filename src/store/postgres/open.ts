/**
 * Opens a PostgreSQL store: any number of hubs on one database, none of them special.
 *
 * Writes are committed in groups (commit.ts), reads use a small pool, and wake-ups are notifications. What a
 * write does is defined by the SQL functions in functions/, one file per verb.
 */
import pg from "pg";
import type { Clock } from "../../base/clock.ts";
import type { Limits } from "../../base/limits.ts";
import type { ExportItem } from "../archive.ts";
import { compareBranches } from "../chain.ts";
import {
  agentOf,
  attemptOf,
  deliveryOf,
  edgeOf,
  entryOf,
  envelopeOf,
  eventOf,
  memoryOf,
  stateNumber,
} from "../codecs.ts";
import { DELIVERY_STATES, type DeliveryState } from "../rows.ts";
import type { SchemaStep } from "../schema-steps.ts";
import type {
  AcceptOutcome,
  AppendOutcome,
  ClaimOutcome,
  DeliveryTotals,
  MoveOutcome,
  PutOutcome,
  RegisterOutcome,
  RenewOutcome,
  SendManyOutcome,
  SendOutcome,
  SettleOutcome,
  Store,
} from "../store.ts";
import { storeClosed } from "../store-closed.ts";
import { verifyWorkspace } from "../verify/workspace.ts";
import { DUE_TIMES, DueAnnouncer, type TimedOutcome } from "../wake/due-announcer.ts";
import { WakeNotifier } from "../wake/wake-notifier.ts";
import { type PostgresAddress, parsePostgresAddress } from "./address.ts";
import { type ExecuteSql, exportWorkspace } from "./archive/export.ts";
import { importWorkspace } from "./archive/import.ts";
import { listTraces, pruneEvents, pruneTrace, surveyEvents, surveyTrace } from "./archive/prune.ts";
import { redactBodies } from "./archive/redact.ts";
import { resetIndex, vacuum } from "./archive/scrub.ts";
import { chainHeadOf, verifySource } from "./archive/verify-source.ts";
import { Committer } from "./commit.ts";
import {
  clientConfig,
  LONG_STATEMENT_MS,
  poolFor,
  queryRows,
  type Row,
  retryWhileUnavailable,
  runStatement,
  type Statement,
  type StatementOptions,
  untilClosed,
} from "./connection.ts";
import { isUnknownHost, storeFailure } from "./failures.ts";
import { recentMemories } from "./find-memories.ts";
import { findRelations, findTips, type StatementRunner } from "./lines.ts";
import { migrate } from "./migrations.ts";
import { Notifier } from "./notifier.ts";
import type { Operation } from "./operations.ts";
import { recordParts } from "./record-part.ts";
import { deliveryWithEnvelopeOf, explain, recover } from "./recover.ts";
import { tryCreateExtension } from "./search/hnsw-table.ts";
import { Indexer } from "./search/indexer.ts";
import { Searcher } from "./search/searcher.ts";
import { dropModel, findUnembedded, listModels, putVectors } from "./search/vector-search.ts";
import { seekText } from "./seek-text.ts";
import { SqlReader } from "./sql/sql-reader.ts";
import { type Statements, statementsIn } from "./statements.ts";

/** Options of `openPostgresStore`. */
export interface PostgresOptions {
  readonly address: string;
  /** Overrides the database's time; for tests. Default: the database's time. */
  readonly clock?: Clock | undefined;
  readonly limits: Limits;
  /** Whether to create the store if it does not exist; if false, that is an error. Default: true. */
  readonly create?: boolean;
  /** Overrides the schema steps; for tests. */
  readonly steps?: readonly SchemaStep[];
}

/**
 * Creates or upgrades the schema and returns the store. Throws `store_…` errors, e.g. `store_unavailable`.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const address = parsePostgresAddress(options.address);
  await retryWhileUnavailable(
    async () => {
      const client = new pg.Client({
        ...clientConfig(address),
        connectionTimeoutMillis: options.limits.busyMs,
      });
      client.on("error", () => {}); // The pending query reports it as well.
      try {
        await client.connect();
        await migrate(client, address, { create: options.create ?? true, steps: options.steps });
      } catch (error) {
        // Waiting does not help if the host name does not exist.
        throw isUnknownHost(error) ? storeFailure(error, address.name) : error;
      } finally {
        await client.end().catch(() => {});
      }
    },
    { forMs: OPEN_MS, store: address.name },
  );
  return new PostgresStore(address, options);
}

/** Cursor before the first delivery: urgent ones may have a place below 0. */
const START_CURSOR = { place: Number.MIN_SAFE_INTEGER, id: "" };
/** An id greater than every id. */
const MAX_ID = "\u{10ffff}";
/** A number of new records that makes the indexer start at once. */
const REINDEX_ALL = 1_000_000;
/** How long opening waits for a server that is starting. */
const OPEN_MS = 2_000;

class PostgresStore implements Store {
  readonly name: string;
  readonly #address: PostgresAddress;
  readonly #sql: Statements;
  readonly #pool: pg.Pool;
  readonly #writer: Committer;
  readonly #indexer: Indexer;
  readonly #searcher = new Searcher();
  readonly #notices: Notifier;
  readonly #sqlReader: SqlReader;
  readonly #notifier = new WakeNotifier();
  readonly #dueTimes = new DueAnnouncer(() => this.#ring(DUE_TIMES.workspace, [DUE_TIMES.agent]));
  readonly #reader: StatementRunner;
  readonly #forMs: number;
  readonly #now: () => number | null;
  /** For statements about a whole workspace. */
  readonly #long: StatementOptions;
  /** The single attempt to create the pgvector extension. */
  #extended: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(address: PostgresAddress, { clock, limits }: PostgresOptions) {
    this.name = address.name;
    this.#address = address;
    this.#sql = statementsIn(address.schema);
    this.#forMs = limits.busyMs;
    this.#now = () => clock?.now() ?? null;
    this.#long = { pgbouncer: address.pgbouncer, statementMs: LONG_STATEMENT_MS };
    this.#pool = poolFor(address, {
      max: address.pool,
      waitMs: limits.busyMs,
      statementMs: 2 * limits.busyMs,
    });
    this.#reader = { sql: this.#sql, read: (statement, values) => this.#read(statement, values) };
    this.#indexer = new Indexer({
      sql: this.#sql,
      run: (client, statement, values) => runStatement(client, statement, values, this.#long),
      withClient: (use) => this.#withClient(use),
    });
    const writing: StatementRunner = {
      sql: this.#sql,
      read: (statement, values) => this.#readToTheEnd(statement, values),
    };
    this.#writer = new Committer({
      address,
      sql: this.#sql,
      forMs: limits.busyMs,
      now: this.#now,
      explain: (operation, refusal) => explain(writing, operation, refusal),
      recover: (workspace, group, claimed) => recover(writing, workspace, { group, claimed }),
      committed: (workspace, woken, records) => {
        if (woken.length > 0) this.#ring(workspace, woken);
        if (records > 0) this.#indexer.committed(workspace, records);
      },
    });
    this.#sqlReader = new SqlReader(address, limits.busyMs);
    this.#notices = new Notifier(address, this.#notifier, (channel, payload) =>
      runStatement(this.#pool, this.#sql.notify, [channel, payload], address),
    );
  }

  registerAgent: Store["registerAgent"] = async (operation) => {
    this.#refuseClosed();
    const { workspace, agent, basedOn, records = [] } = operation;
    const { id, status, role, aliases, publicKey, profile } = agent;
    const revision = basedOn + 1;
    // The text that the digest covers (rows.ts), without the two values only the store knows.
    const before = `${JSON.stringify([id, status, role, aliases, publicKey]).slice(0, -1)},`;
    const between = `,${JSON.stringify(profile)},`;
    const names = [...new Set([id, ...aliases])];
    const described = { ...agent, aliases: JSON.stringify(aliases), names, before, between };
    const added = records.length === 0 ? undefined : recordParts(workspace, records);
    const values = [
      ...[workspace, this.#now(), JSON.stringify(described), basedOn],
      ...[added?.parts ?? null, added?.text ?? null],
    ];
    const [row] = await this.#read(this.#sql.register, values);
    const outcome = row?.[0] as
      | { kind: "registered"; keyedAt: number; digest: string }
      | Exclude<RegisterOutcome, { kind: "registered" }>;
    if (outcome.kind !== "registered") return outcome;
    if (records.length > 0) this.#indexer.committed(workspace, records.length);
    const { keyedAt, digest } = outcome;
    return { kind: "registered", agent: { ...agent, keyedAt, digest, revision } };
  };

  appendMemories: Store["appendMemories"] = (of) =>
    this.#write<AppendOutcome>({ kind: "append", of });
  sendHandoff: Store["sendHandoff"] = (of) => this.#writeTimed<SendOutcome>({ kind: "send", of });
  sendHandoffs: Store["sendHandoffs"] = (handoffs) => {
    const workspace = handoffs[0]?.workspace ?? "";
    return this.#writeTimed<SendManyOutcome>({ kind: "send-many", of: { workspace, handoffs } });
  };
  claimDeliveries: Store["claimDeliveries"] = (of) =>
    this.#writeTimed<ClaimOutcome>({ kind: "claim", of });
  acceptDelivery: Store["acceptDelivery"] = (of) =>
    this.#writeTimed<AcceptOutcome>({ kind: "accept", of });
  settleDelivery: Store["settleDelivery"] = (of) =>
    this.#writeTimed<SettleOutcome>({ kind: "settle", of });
  moveDeliveries: Store["moveDeliveries"] = (of) =>
    this.#writeTimed<MoveOutcome>({ kind: "move", of });
  putEntry: Store["putEntry"] = (workspace, entry, event) =>
    this.#write<PutOutcome>({ kind: "put", of: { workspace, entry, event } });
  renewLease: Store["renewLease"] = (workspace, lease) =>
    this.#write<RenewOutcome>({ kind: "renew", of: { workspace, lease } });
  renewSession: Store["renewSession"] = (session, leaseMs) =>
    this.#write<undefined>({ kind: "session", of: { ...session, leaseMs } });

  findAgent: Store["findAgent"] = async (workspace, name) => {
    const [row] = await this.#read(this.#sql.agentByName, [workspace, name]);
    return row && agentOf(row);
  };

  listAgents: Store["listAgents"] = async (workspace) =>
    (await this.#read(this.#sql.agents, [workspace])).map(agentOf);

  readMemories: Store["readMemories"] = async (workspace, ids) =>
    (await this.#read(this.#sql.memories, [workspace, ids])).map(memoryOf);

  recentMemories: Store["recentMemories"] = async (operation) => {
    this.#refuseClosed();
    return recentMemories(this.#reader, operation);
  };

  search: Store["search"] = async (operation) => {
    const searched = await this.#atOneMoment((reader) => this.#searcher.search(reader, operation));
    const { records, indexed } = searched.index;
    this.#indexer.scanned(operation.workspace, records - indexed);
    return searched;
  };

  findUnembedded: Store["findUnembedded"] = (operation) =>
    this.#atOneMoment((reader) => findUnembedded(reader, operation));

  putVectors: Store["putVectors"] = async (operation) => {
    this.#refuseClosed();
    this.#extended ??= tryCreateExtension((statement, values) =>
      this.#read(statement, values),
    ).catch(() => {
      this.#extended = undefined; // The server is unavailable: retry with the next vectors.
    });
    await this.#extended;
    await this.#inOneGo((reader) => putVectors(reader, operation));
  };

  listModels: Store["listModels"] = (workspace) =>
    this.#atOneMoment((reader) => listModels(reader, workspace));

  dropModel: Store["dropModel"] = (workspace, model) =>
    this.#inOneGo((reader) => dropModel(reader, workspace, model));

  findTips: Store["findTips"] = async (operation) => {
    this.#refuseClosed();
    return findTips(this.#reader, operation);
  };

  findRelations: Store["findRelations"] = async (operation) => {
    this.#refuseClosed();
    return findRelations(this.#reader, operation);
  };

  findInbound: Store["findInbound"] = async ({ workspace, memories, kinds, limit }) =>
    (await this.#read(this.#sql.edgesInto, [workspace, memories, kinds, limit])).map(edgeOf);

  findDelivery: Store["findDelivery"] = async (workspace, id) => {
    const [row] = await this.#read(this.#sql.delivery, [workspace, [id]]);
    return row && deliveryWithEnvelopeOf(row);
  };

  listDeliveries: Store["listDeliveries"] = async (operation) => {
    const { workspace, receivers, states, task, limit, after = START_CURSOR } = operation;
    const where = [states.map(stateNumber), after.place, after.id, limit];
    const values = [workspace, receivers, ...where];
    const rows = await (task === undefined
      ? this.#read(this.#sql.openDeliveries, values)
      : this.#read(this.#sql.openOfTask, [...values, task]));
    return rows.map(deliveryWithEnvelopeOf);
  };

  listParked: Store["listParked"] = async (operation) => {
    const { workspace, state, sender, receiver, task, limit, after = START_CURSOR } = operation;
    const where = [stateNumber(state), after.place, after.id, limit];
    const values = [workspace, ...where, sender, receiver, task];
    return (await this.#read(this.#sql.parked, values)).map(deliveryWithEnvelopeOf);
  };

  browseDeliveries: Store["browseDeliveries"] = async (operation) => {
    const { workspace, before = MAX_ID, visits, limit, states } = operation;
    const { sender, receiver, task, sentAfter, sentBefore } = operation;
    const where = [states?.map(stateNumber), sender, receiver, task, sentAfter, sentBefore];
    const found = await this.#read(this.#sql.browse, [workspace, before, visits, limit, ...where]);
    const rows = found
      .filter(([, state]) => state !== null)
      .map((row) => deliveryWithEnvelopeOf(row.slice(1)));
    const next = found[0]?.[0] as string | null;
    return next === null ? { rows } : { rows, next };
  };

  listDue: Store["listDue"] = async ({ workspace, gone, limit }) => {
    const rows = await this.#read(this.#sql.due, [workspace, this.#now(), gone, limit]);
    const [now, retries] = rows[0] as [number, number];
    return {
      now,
      due: rows
        .filter(([, , state]) => state !== null)
        .map((row) => deliveryWithEnvelopeOf(row.slice(2))),
      retries,
    };
  };

  nextDue: Store["nextDue"] = async (workspaces) => {
    const rows = await this.#read(this.#sql.nextDue, [workspaces ?? null, this.#now()]);
    return (rows as [string, number][]).map(([workspace, dueMs]) => ({ workspace, dueMs }));
  };

  makeRetriesReady: Store["makeRetriesReady"] = (workspace) =>
    this.#write<undefined>({ kind: "mature", of: { workspace } });

  countOpen: Store["countOpen"] = async (workspace, receiver, most) => {
    const [row] = await this.#read(this.#sql.countOpen, [workspace, receiver, most]);
    return row?.[0] as number;
  };

  findEntry: Store["findEntry"] = async (workspace, kind, name) => {
    const [row] = await this.#read(this.#sql.entry, [workspace, kind, name]);
    return row && entryOf(row);
  };

  listEntries: Store["listEntries"] = async ({ workspace, kind, limit, prefix = "", after = "" }) =>
    (await this.#read(this.#sql.entries, [workspace, kind, prefix, after, limit])).map(entryOf);

  findEnvelope: Store["findEnvelope"] = async (workspace, id) => {
    const [row] = await this.#read(this.#sql.envelope, [workspace, id]);
    if (row === undefined) return undefined;
    const envelope = envelopeOf(row);
    const rows = await this.#read(this.#sql.deliveriesOf, [workspace, [envelope.memory]]);
    const deliveries = rows.map(deliveryOf).filter((delivery) => delivery.envelope === id);
    return { envelope, deliveries };
  };

  readLine: Store["readLine"] = async (workspace, task, newest) => {
    const found = await this.#read(this.#sql.line, [workspace, task, newest ?? null]);
    const envelopes = found.map(envelopeOf).reverse();
    const records = envelopes.map((envelope) => envelope.memory);
    const rows = await this.#read(this.#sql.deliveriesOf, [workspace, records]);
    const deliveries = rows.map(deliveryOf);
    return envelopes.map((envelope) => ({
      envelope,
      deliveries: deliveries.filter((delivery) => delivery.envelope === envelope.id),
    }));
  };

  readAttempts: Store["readAttempts"] = async (workspace, delivery) =>
    (await this.#read(this.#sql.attempts, [workspace, delivery])).map(attemptOf);

  readEvents: Store["readEvents"] = async (workspace, after, limit) =>
    (await this.#read(this.#sql.events, [workspace, after, limit])).map(eventOf);

  listProcesses: Store["listProcesses"] = async (workspace) =>
    (await this.#read(this.#sql.processes, [workspace])).map(([process]) => process as string);

  listTraces: Store["listTraces"] = async (operation) => {
    this.#refuseClosed();
    return listTraces(this.#reader, operation);
  };

  surveyTrace: Store["surveyTrace"] = (operation) =>
    this.#atOneMoment((reader) => surveyTrace(reader, operation), this.#long);

  pruneTrace: Store["pruneTrace"] = (operation) =>
    this.#inOneGo((reader) => pruneTrace(reader, operation));

  surveyEvents: Store["surveyEvents"] = (operation) =>
    this.#atOneMoment((reader) => surveyEvents(reader, operation), this.#long);

  pruneEvents: Store["pruneEvents"] = (workspace, upTo, limit) =>
    this.#inOneGo((reader) => pruneEvents(reader, workspace, { upTo, limit }));

  redactBodies: Store["redactBodies"] = async (operation) => {
    const outcome = await this.#transact((ask) => redactBodies(ask, operation, this.#now()));
    // The whole index has to be rebuilt.
    if (outcome.kind === "redacted") this.#indexer.committed(operation.workspace, REINDEX_ALL);
    return outcome;
  };

  // In a transaction, because its first statement has the short time limit: a silent server is noticed.
  seekText: Store["seekText"] = (operation) => this.#transact((ask) => seekText(ask, operation));

  scrub: Store["scrub"] = async (workspace) => {
    await this.#transact((ask) => resetIndex(ask, workspace));
    this.#indexer.committed(workspace, REINDEX_ALL); // The whole index has to be rebuilt.
    return this.#persist(async () => ({
      beyond: await this.#withClient((client) => vacuum(this.#asking(client))),
    }));
  };

  countDeliveries: Store["countDeliveries"] = (workspace) =>
    this.#atOneMoment(async ({ sql, read }): Promise<DeliveryTotals> => {
      const byState = Object.fromEntries(DELIVERY_STATES.map((state) => [state, 0])) as Record<
        DeliveryState,
        number
      >;
      for (const row of await read(sql.countStates, [workspace])) {
        const [state, count] = row as [number, number];
        byState[DELIVERY_STATES[state] as DeliveryState] = count;
      }
      const [[envelopes]] = (await read(sql.countEnvelopes, [workspace])) as [[number]];
      const deliveries = Object.values(byState).reduce((sum, count) => sum + count, 0);
      return { envelopes, deliveries, byState };
    }, this.#long);

  listHeads: Store["listHeads"] = async (workspace) =>
    (await this.#read(this.#sql.chains, [workspace])).map(chainHeadOf).sort(compareBranches);

  verify: Store["verify"] = (workspace, onProgress, expected) =>
    this.#atOneMoment(
      async (reader) =>
        verifyWorkspace(await verifySource(reader, workspace), onProgress, expected),
      this.#long,
    );

  query: Store["query"] = async (query) => {
    this.#refuseClosed();
    return this.#sqlReader.query(query);
  };

  indexState: Store["indexState"] = async () => {
    const [row] = await this.#read(this.#sql.indexTotals, []);
    const [records, indexed] = row as [number, number];
    return { records, indexed };
  };

  async *exportWorkspace(workspace: string): AsyncGenerator<ExportItem, void, undefined> {
    this.#refuseClosed();
    const client = await this.#persist(() => this.#snapshot());
    let failed: Error | undefined;
    try {
      for await (const row of exportWorkspace(this.#asking(client), workspace)) {
        this.#refuseClosed();
        yield row;
      }
    } catch (error) {
      failed = error as Error;
      throw storeFailure(error, this.name);
    } finally {
      if (failed === undefined) {
        await client.query("rollback").catch((error: Error) => {
          failed = error; // Everything was read: only the connection cannot be reused.
        });
      }
      client.release(failed);
    }
  }

  /** Returns a connection in a read-only transaction; the caller releases it. */
  async #snapshot(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin isolation level repeatable read read only");
      return client;
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  /** Runs once, without retries: the rows of the archive can be read only once. */
  importWorkspace: Store["importWorkspace"] = async (workspace, archive, onProgress) => {
    this.#refuseClosed();
    try {
      return await this.#withClient(async (client) => {
        await client.query("begin");
        await client.query("set local synchronous_commit = on");
        const reader: StatementRunner = {
          sql: this.#sql,
          read: (statement, values) => runStatement(client, statement, values, this.#long),
        };
        const outcome = await importWorkspace({
          ...{ ask: this.#asking(client), workspace, archive, onProgress },
          source: () => verifySource(reader, workspace),
        });
        await client.query(outcome.kind === "imported" ? "commit" : "rollback");
        const { memory } = archive.summary.counts;
        if (outcome.kind !== "imported") return outcome;
        this.#indexer.committed(workspace, memory);
        this.#ring(DUE_TIMES.workspace, [DUE_TIMES.agent]);
        return outcome;
      });
    } catch (error) {
      throw storeFailure(error, this.name);
    }
  };

  /** Returns a function that executes SQL on a connection, with `$schema` replaced by the schema. */
  #asking(client: pg.PoolClient): ExecuteSql {
    const { schema } = this.#address;
    return (text, values) => {
      const query = { text: text.replaceAll("$schema", schema), values: [...values] };
      return queryRows(client, { ...query, query_timeout: LONG_STATEMENT_MS });
    };
  }

  backup: Store["backup"] = async () => {
    this.#refuseClosed();
    return { kind: "no_file" };
  };

  onWake: Store["onWake"] = (whom, listener) => {
    this.#notices.start();
    return this.#notifier.listen(whom, listener);
  };

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#notifier.ringAll();
    await this.#writer.close();
    await this.#notices.close();
    await untilClosed(this.#indexer.close());
    await untilClosed(Promise.all([this.#sqlReader.close(), this.#pool.end()]));
  }

  #write<Outcome>(operation: Operation): Promise<Outcome> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed());
    return this.#writer.submit(operation) as Promise<Outcome>;
  }

  /** Writes what can change when a delivery falls due, and announces that. */
  async #writeTimed<Outcome extends TimedOutcome>(operation: Operation): Promise<Outcome> {
    return this.#dueTimes.announce(await this.#write<Outcome>(operation));
  }

  async #read(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.#refuseClosed();
    return this.#readToTheEnd(statement, values);
  }

  /** Reads even while the store is closing: writes submitted before still get their outcome. */
  #readToTheEnd(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#persist(() => runStatement(this.#pool, statement, values, this.#address));
  }

  /** Runs reads on one snapshot, in a read-only transaction. */
  async #atOneMoment<T>(
    look: (reader: StatementRunner) => Promise<T>,
    how: StatementOptions = this.#address,
  ): Promise<T> {
    this.#refuseClosed();
    return this.#persist(() =>
      this.#withClient(async (client) => {
        await client.query("begin isolation level repeatable read read only");
        const found = await look({
          sql: this.#sql,
          read: (statement, values) => runStatement(client, statement, values, how),
        });
        await client.query("rollback");
        return found;
      }),
    );
  }

  /** Runs a transaction with ad-hoc SQL. Retries start from scratch. */
  async #transact<T>(write: (ask: ExecuteSql) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    return this.#persist(() =>
      this.#withClient(async (client) => {
        await client.query("begin");
        const outcome = await write(this.#asking(client));
        await client.query("commit");
        return outcome;
      }),
    );
  }

  /** Runs a transaction with prepared statements: all or nothing is written. Retries start from scratch. */
  async #inOneGo<T>(write: (reader: StatementRunner) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    return this.#persist(() =>
      this.#withClient(async (client) => {
        await client.query("begin");
        const outcome = await write({
          sql: this.#sql,
          read: (statement, values) => runStatement(client, statement, values, this.#long),
        });
        await client.query("commit");
        return outcome;
      }),
    );
  }

  async #withClient<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let failed: Error | undefined;
    try {
      return await use(client);
    } catch (error) {
      failed = error as Error;
      throw error;
    } finally {
      client.release(failed); // A failed connection may be in any state: closing it also rolls back.
    }
  }

  /** Wakes listeners in this process and at other hubs. */
  #ring(workspace: string, agents: readonly string[]): void {
    this.#notifier.ring(agents.map((agent) => ({ workspace, agent })));
    this.#notices.ring(workspace, agents);
  }

  #persist<T>(attempt: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(attempt, { forMs: this.#forMs, store: this.name });
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw storeClosed();
  }
}
