/**
 * The PostgreSQL store: any number of hubs on one database, none of them special.
 *
 * Writes go through the writer, in groups; reads through a small pool; wake-ups through
 * notifications. What a write does is written down in functions/, one file per verb.
 */
import pg from "pg";
import type { Clock } from "../../clock.ts";
import type { Limits } from "../../limits.ts";
import { storeClosed } from "../closed.ts";
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
import type {
  AcceptOutcome,
  AppendOutcome,
  Books,
  ClaimOutcome,
  MoveOutcome,
  PutOutcome,
  RegisterOutcome,
  RenewOutcome,
  SendOutcome,
  SettleOutcome,
  Store,
} from "../store.ts";
import { verifyWorkspace } from "../verify/workspace.ts";
import { WakeBell } from "../wake.ts";
import { type PostgresAddress, parsePostgresAddress } from "./address.ts";
import { clientConfig, persist, type Row, run, type Statement } from "./connection.ts";
import { isUnknownHost, storeFailure } from "./failures.ts";
import { type Reader, recentMemories, searchCandidates } from "./find.ts";
import { Indexer } from "./indexer.ts";
import { migrate } from "./migrations.ts";
import { Notices } from "./notices.ts";
import type { Operation } from "./operations.ts";
import { claimedOf, explain, recover } from "./recover.ts";
import { type Statements, statementsIn } from "./statements.ts";
import { verifySource } from "./verify-source.ts";
import { Writer } from "./writer.ts";

export interface PostgresOptions {
  readonly address: string;
  /** Overrides the database's time; for tests. */
  readonly clock?: Clock | undefined;
  readonly limits: Limits;
  /** False: an error where there is no store yet. */
  readonly create?: boolean;
}

export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const address = parsePostgresAddress(options.address);
  await persist(
    async () => {
      const client = new pg.Client(clientConfig(address));
      client.on("error", () => {}); // Met again by whoever waits for an answer.
      try {
        await client.connect();
        await migrate(client, address, { create: options.create ?? true });
      } catch (error) {
        // A host of that name will not turn up by waiting.
        throw isUnknownHost(error) ? storeFailure(error, address.name) : error;
      } finally {
        await client.end().catch(() => {});
      }
    },
    { forMs: OPEN_MS, store: address.name },
  );
  return new PostgresStore(address, options);
}

/** Before everything: what is urgent may have a place below 0. */
const FIRST = { place: Number.MIN_SAFE_INTEGER, id: "" };
/** How long opening waits for a server that is just starting. */
const OPEN_MS = 2_000;

class PostgresStore implements Store {
  readonly name: string;
  readonly #address: PostgresAddress;
  readonly #sql: Statements;
  readonly #pool: pg.Pool;
  readonly #writer: Writer;
  readonly #indexer: Indexer;
  readonly #notices: Notices;
  readonly #bell = new WakeBell();
  readonly #reader: Reader;
  readonly #forMs: number;
  readonly #now: () => number | null;
  #closing: Promise<void> | undefined;

  constructor(address: PostgresAddress, { clock, limits }: PostgresOptions) {
    this.name = address.name;
    this.#address = address;
    this.#sql = statementsIn(address.schema);
    this.#forMs = limits.busyMs;
    this.#now = () => clock?.now() ?? null;
    this.#pool = new pg.Pool({
      ...clientConfig(address),
      max: address.pool,
      connectionTimeoutMillis: limits.busyMs,
      allowExitOnIdle: true,
    });
    this.#pool.on("error", () => {}); // An idle connection was lost: the next query makes another.
    this.#reader = { sql: this.#sql, read: (statement, values) => this.#read(statement, values) };
    this.#indexer = new Indexer({
      sql: this.#sql,
      run: (client, statement, values) => run(client, statement, values, address),
      withClient: (use) => this.#withClient(use),
    });
    const writing: Reader = {
      sql: this.#sql,
      read: (statement, values) => this.#readToTheEnd(statement, values),
    };
    this.#writer = new Writer({
      address,
      sql: this.#sql,
      forMs: limits.busyMs,
      now: this.#now,
      explain: (operation, refusal) => explain(writing, operation, refusal),
      recover: (workspace, group, claimed) => recover(writing, workspace, { group, claimed }),
      committed: (workspace, woken, records) => {
        if (woken.length > 0) {
          this.#bell.ring(woken.map((agent) => ({ workspace, agent })));
          this.#notices.ring(workspace, woken);
        }
        if (records > 0) this.#indexer.committed(workspace, records);
      },
    });
    this.#notices = new Notices(address, this.#bell, (channel, payload) =>
      run(this.#pool, this.#sql.notify, [channel, payload], address),
    );
  }

  registerAgent: Store["registerAgent"] = async ({ workspace, agent, basedOn }) => {
    this.#refuseClosed();
    const { id, status, role, aliases, publicKey, profile } = agent;
    const revision = basedOn + 1;
    // The digest's text (rows.ts), without the two values only the store knows.
    const before = `${JSON.stringify([id, status, role, aliases, publicKey]).slice(0, -1)},`;
    const between = `,${JSON.stringify(profile)},`;
    const names = [...new Set([id, ...aliases])];
    const described = { ...agent, aliases: JSON.stringify(aliases), names, before, between };
    const values = [workspace, this.#now(), JSON.stringify(described), basedOn];
    const [row] = await this.#read(this.#sql.register, values);
    const outcome = row?.[0] as
      | { kind: "registered"; keyedAt: number; digest: string }
      | Exclude<RegisterOutcome, { kind: "registered" }>;
    if (outcome.kind !== "registered") return outcome;
    const { keyedAt, digest } = outcome;
    return { kind: "registered", agent: { ...agent, keyedAt, digest, revision } };
  };

  appendMemories: Store["appendMemories"] = (of) =>
    this.#write<AppendOutcome>({ kind: "append", of });
  sendHandoff: Store["sendHandoff"] = (of) => this.#write<SendOutcome>({ kind: "send", of });
  claimDeliveries: Store["claimDeliveries"] = (of) =>
    this.#write<ClaimOutcome>({ kind: "claim", of });
  acceptDelivery: Store["acceptDelivery"] = (of) =>
    this.#write<AcceptOutcome>({ kind: "accept", of });
  settleDelivery: Store["settleDelivery"] = (of) =>
    this.#write<SettleOutcome>({ kind: "settle", of });
  moveDeliveries: Store["moveDeliveries"] = (of) => this.#write<MoveOutcome>({ kind: "move", of });
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

  searchCandidates: Store["searchCandidates"] = async (operation) => {
    this.#refuseClosed();
    return searchCandidates(this.#reader, operation);
  };

  findRelations: Store["findRelations"] = async (operation) => {
    const { workspace, memory, direction, kinds = null, at = null, limit } = operation;
    const edges = direction === "in" ? this.#sql.edgesIn : this.#sql.edgesOut;
    return (await this.#read(edges, [workspace, memory, kinds, at, limit])).map(edgeOf);
  };

  findDelivery: Store["findDelivery"] = async (workspace, id) => {
    const [row] = await this.#read(this.#sql.delivery, [workspace, [id]]);
    return row && claimedOf(row);
  };

  listDeliveries: Store["listDeliveries"] = async (operation) => {
    const { workspace, receivers, states, task, limit, after = FIRST } = operation;
    const where = [states.map(stateNumber), after.place, after.id, limit];
    const values = [workspace, receivers, ...where];
    const rows = await (task === undefined
      ? this.#read(this.#sql.openDeliveries, values)
      : this.#read(this.#sql.openOfTask, [...values, task]));
    return rows.map(claimedOf);
  };

  listParked: Store["listParked"] = async (operation) => {
    const { workspace, state, sender, receiver, task, limit, after = FIRST } = operation;
    const where = [stateNumber(state), after.place, after.id, limit];
    const values = [workspace, ...where, sender, receiver, task];
    return (await this.#read(this.#sql.parked, values)).map(claimedOf);
  };

  listDue: Store["listDue"] = async ({ workspace, gone, limit }) => {
    const rows = await this.#read(this.#sql.due, [workspace, this.#now(), gone, limit]);
    const now = rows[0]?.[0] as number;
    return {
      now,
      due: rows.filter(([, state]) => state !== null).map((row) => claimedOf(row.slice(1))),
    };
  };

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

  readLine: Store["readLine"] = async (workspace, task) => {
    const envelopes = (await this.#read(this.#sql.line, [workspace, task])).map(envelopeOf);
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

  countDeliveries: Store["countDeliveries"] = (workspace) =>
    this.#atOneMoment(async ({ sql, read }): Promise<Books> => {
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
    });

  verify: Store["verify"] = (workspace, onProgress) =>
    this.#atOneMoment(async (reader) =>
      verifyWorkspace(await verifySource(reader, workspace), onProgress),
    );

  indexState: Store["indexState"] = async () => {
    const [row] = await this.#read(this.#sql.indexTotals, []);
    const [records, indexed] = row as [number, number];
    return { records, indexed };
  };

  onWake: Store["onWake"] = (whom, listener) => {
    this.#notices.start();
    return this.#bell.listen(whom, listener);
  };

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#bell.ringAll();
    await this.#writer.close();
    await this.#notices.close();
    await this.#indexer.close();
    await this.#pool.end();
  }

  #write<Outcome>(operation: Operation): Promise<Outcome> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed());
    return this.#writer.submit(operation) as Promise<Outcome>;
  }

  async #read(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.#refuseClosed();
    return this.#readToTheEnd(statement, values);
  }

  /** For writes that were submitted before the store was closed: they still get their answer. */
  #readToTheEnd(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#persist(() => run(this.#pool, statement, values, this.#address));
  }

  /** Everything that is read sees the same state, and nothing is written. */
  async #atOneMoment<T>(look: (reader: Reader) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    return this.#persist(() =>
      this.#withClient(async (client) => {
        await client.query("begin isolation level repeatable read read only");
        try {
          return await look({
            sql: this.#sql,
            read: (statement, values) => run(client, statement, values, this.#address),
          });
        } finally {
          await client.query("rollback");
        }
      }),
    );
  }

  async #withClient<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let failed: Error | undefined;
    const lost = (error: Error): void => {
      failed = error; // Met again by whoever waits for an answer; with nobody to hear it, we die of it.
    };
    client.on("error", lost);
    try {
      return await use(client);
    } catch (error) {
      failed = error as Error;
      throw error;
    } finally {
      client.off("error", lost);
      client.release(failed); // One that failed may be in any state: it is thrown away.
    }
  }

  #persist<T>(attempt: () => Promise<T>): Promise<T> {
    return persist(attempt, { forMs: this.#forMs, store: this.name });
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw storeClosed();
  }
}
