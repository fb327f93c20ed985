/**
 * Runs SQL queries on PostgreSQL, on connections used for nothing else: read-only, on one snapshot, with a
 * timeout, and disconnected when the result exceeds its limit.
 *
 * Three walls separate a query from the rest of the database. The guard refuses texts that do more than read
 * the views (sql-guard.ts). PostgreSQL resolves the text, and everything it refers to is compared with lists
 * (resolved-query.ts). It then runs as a role that has no rights but to the views (sql-role.ts). The caller's
 * text is sent in the extended protocol, which takes one statement, so none can change role or transaction.
 */
import type { Duplex } from "node:stream";
import type pg from "pg";
import { BatonError } from "../../../base/errors.ts";
import { MAX_RUNNING, QueryQueue } from "../../sql/query-queue.ts";
import { sizeOf } from "../../sql/row-size.ts";
import { VIEWS_HINT } from "../../sql/views.ts";
import type { QueryOutcome, RunQuery, SqlValue } from "../../sql-query.ts";
import { storeClosed } from "../../store-closed.ts";
import type { PostgresAddress } from "../address.ts";
import { poolFor, retryWhileUnavailable } from "../connection.ts";
import { isDisconnected, sqlState } from "../failures.ts";
import { type Inspect, type PreparedQuery, prepareQuery } from "./prepare-query.ts";
import { inspectResolved, resolveStatement } from "./resolved-query.ts";
import { ensureSqlRole, SQL_ROLE } from "./sql-role.ts";
import { createViews } from "./temporary-views.ts";

/** Extra time for the server to cancel the query before the connection is closed. */
const GRACE_MS = 2_000;
/** Allowance for protocol overhead in addition to the values. */
const OVERHEAD_BYTES = 1024 * 1024;

const CANCELLED = "57014";
const READ_ONLY = "25006";
const DENIED = "42501";
/** Error codes for exceeded memory, temporary files and value size. */
const TOO_LARGE = new Set(["53200", "53400", "54000"]);

/** Limits temporary files. Only superusers may set this; other users have the server's limit. */
const BOUND_FILES = `select set_config('temp_file_limit', '512MB', true)
  where current_setting('is_superuser') = 'on'`;

/** Has the server notice that a query was cut off, where its system can. */
const CHECK_CLIENT = `select set_config('client_connection_check_interval', '500', true)
  where version() ~* 'linux|darwin|apple'`;

/** Walls to leave out, so that tests can prove each of the others. */
export interface SqlReaderOptions {
  /** Replaces the guard. */
  readonly inspect?: Inspect | undefined;
  /** Default: true. */
  readonly checksResolved?: boolean;
  /** Default: true. */
  readonly usesRole?: boolean;
}

/** Runs read-only queries for one store. */
export class SqlReader {
  readonly #address: PostgresAddress;
  readonly #options: SqlReaderOptions;
  readonly #pool: pg.Pool;
  readonly #queue: QueryQueue;
  readonly #forMs: number;
  /** Of the queries that are running. */
  readonly #cutOffs = new Set<CutOff>();
  /** The role that queries run as; undefined if they run as the hub's user. */
  #role: Promise<string | undefined> | undefined;

  constructor(address: PostgresAddress, forMs: number, options: SqlReaderOptions = {}) {
    this.#address = address;
    this.#options = options;
    this.#forMs = forMs;
    this.#pool = poolFor(address, { max: MAX_RUNNING, waitMs: forMs });
    this.#queue = new QueryQueue(address.name);
  }

  /**
   * Checks and runs a query. Retries while the server is unavailable, at most for the store's wait time.
   * Throws `rate_limited` if too many queries wait.
   */
  async query(query: RunQuery): Promise<QueryOutcome> {
    const prepared = await prepareQuery(query, this.#options.inspect);
    if (prepared.kind !== "prepared") return prepared;
    const { name } = this.#address;
    return this.#queue.run(query, () =>
      retryWhileUnavailable(() => this.#run(prepared, query), { forMs: this.#forMs, store: name }),
    );
  }

  /** Ends all queries; they throw `store_closed`. */
  async close(): Promise<void> {
    this.#queue.close();
    for (const cutOff of this.#cutOffs) cutOff.now("closed");
    await this.#pool.end();
  }

  async #run(prepared: PreparedQuery, query: RunQuery): Promise<QueryOutcome> {
    const { bounds } = query;
    const client = await this.#pool.connect();
    const cutOff = cutOffAfter(client, bounds.bytes * 2 + OVERHEAD_BYTES);
    this.#cutOffs.add(cutOff);
    const timer = setTimeout(() => cutOff.now("timeout"), bounds.ms + GRACE_MS);
    let broken = true; // After an error the connection may be in any state: discard it.
    try {
      await this.#begin(client, { prepared, query });
      const outcome = await this.#answer(client, { prepared, query }).catch(outcomeOf);
      await client.query("rollback");
      broken = false;
      return outcome;
    } catch (error) {
      const reason = cutOff.reason();
      if (reason === undefined) throw error;
      return reason;
    } finally {
      clearTimeout(timer);
      cutOff.stop();
      this.#cutOffs.delete(cutOff);
      client.release(broken);
    }
  }

  /** Begins the transaction and creates the views. */
  async #begin(client: pg.PoolClient, { prepared, query }: Execution): Promise<void> {
    const { schema } = this.#address;
    const role = await this.#roleFor(client);
    const views = createViews(prepared, { query, schema, role });
    try {
      await client.query(`${settings(query.bounds.ms)} ${views}`);
    } catch (error) {
      throw sqlState(error) === DENIED ? this.#denied(error) : error;
    }
  }

  /** Resolves the query, gives up every right that it does not need, and runs it. */
  async #answer(
    client: pg.PoolClient,
    { prepared, query: { params, bounds } }: Execution,
  ): Promise<QueryOutcome> {
    const role = await this.#roleFor(client);
    const setRole = role === undefined ? "" : `set local role ${role};`;
    const seal = `set transaction read only; ${setRole}`;
    if (this.#options.checksResolved === false) await client.query(seal);
    else {
      await client.query(oneStatement(resolveStatement(prepared.resolvable)));
      const refusal = await inspectResolved(client, { views: prepared.views, seal });
      if (refusal !== undefined) return { kind: "refused", ...refusal };
    }
    const text = `select * from (\n${prepared.text}\n) as answer limit ${bounds.rows + 1}`;
    const result = await client.query<unknown[]>(oneStatement(text, params));
    const rows = result.rows as SqlValue[][];
    if (rows.length > bounds.rows) return { kind: "too_large", bound: "rows" };
    const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
    if (bytes > bounds.bytes) return { kind: "too_large", bound: "bytes" };
    return { kind: "answered", columns: result.fields.map(({ name }) => name), rows };
  }

  #roleFor(client: pg.PoolClient): Promise<string | undefined> {
    if (this.#options.usesRole === false) return Promise.resolve(undefined);
    this.#role ??= ensureSqlRole(client, this.#address.schema).then(
      ({ kind }) => (kind === "ready" ? SQL_ROLE : undefined),
      (error: unknown) => {
        this.#role = undefined; // The next query asks again.
        throw error;
      },
    );
    return this.#role;
  }

  #denied(cause: unknown): BatonError {
    const { name } = this.#address;
    return new BatonError("store_denied", {
      message: `${name}: the user may not create temporary views, which SQL queries need.`,
      path: name,
      hint: "Grant it: grant temporary on database <database> to <user>.",
      cause,
    });
  }
}

interface Execution {
  readonly prepared: PreparedQuery;
  readonly query: RunQuery;
}

/** A query of the extended protocol, which refuses more than one statement also without parameters. */
const oneStatement = (text: string, params: readonly SqlValue[] = []) =>
  ({
    text,
    values: [...params] as unknown[],
    queryMode: "extended",
    rowMode: "array",
    types,
  }) as const;

/** Settings that determine how the query is interpreted and how much it may use. */
const settings = (ms: number): string => `
  begin isolation level repeatable read, read write;
  set local statement_timeout = ${ms};
  set local lock_timeout = ${ms};
  set local idle_in_transaction_session_timeout = ${ms + GRACE_MS};
  set local search_path = pg_catalog, pg_temp;
  set local standard_conforming_strings = on;
  set local work_mem = '32MB';
  set local hash_mem_multiplier = 1;
  set local max_parallel_workers_per_gather = 0;
  set local jit = off;
  ${BOUND_FILES};
  ${CHECK_CLIENT};
`;

type CutOffReason = "timeout" | "bytes" | "closed";

interface CutOff {
  now(why: CutOffReason): void;
  /** Throws `store_closed` if that is the reason. */
  reason(): QueryOutcome | undefined;
  stop(): void;
}

/** Counts received bytes before they are parsed, and closes the connection when there are too many. */
function cutOffAfter(client: pg.PoolClient, most: number): CutOff {
  const { stream } = (client as pg.PoolClient & { connection: { stream: Duplex } }).connection;
  let arrived = 0;
  let why: CutOffReason | undefined;
  const now: CutOff["now"] = (reason) => {
    why ??= reason;
    stream.destroy();
  };
  const count = (chunk: Buffer): void => {
    arrived += chunk.byteLength;
    if (arrived > most) now("bytes");
  };
  stream.on("data", count);
  return {
    now,
    reason() {
      if (why === undefined) return undefined;
      if (why === "closed") throw storeClosed();
      return why === "timeout" ? { kind: "timeout" } : { kind: "too_large", bound: "bytes" };
    },
    stop() {
      stream.off("data", count);
    },
  };
}

/** Maps an error to an outcome. Rethrows errors that are not about the query, to be retried or reported. */
function outcomeOf(error: unknown): QueryOutcome {
  const state = sqlState(error);
  if (state === CANCELLED) return { kind: "timeout" };
  if (TOO_LARGE.has(state)) return { kind: "too_large", bound: "memory" };
  if (state === READ_ONLY) {
    return { kind: "refused", reason: "it writes", hint: "Use a SELECT that only reads." };
  }
  if (state === DENIED) {
    const reason = `the database denied it (${(error as Error).message})`;
    return { kind: "refused", reason, hint: VIEWS_HINT };
  }
  if (state === "" || isDisconnected(error)) throw error;
  return { kind: "failed", message: (error as Error).message };
}

const BOOL = 16;
const BYTEA = 17;
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

/** Parsers for booleans, bytes and numbers; all other values stay as PostgreSQL writes them. */
const types = {
  getTypeParser(oid: number) {
    if (oid === BOOL) return (text: string) => text === "t";
    if (oid === BYTEA) return (text: string) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
    return NUMBERS.has(oid) ? numberOf : (text: string) => text;
  },
} as unknown as pg.CustomTypesConfig;

/** Returns numbers that a JavaScript number cannot represent as text. */
function numberOf(text: string): number | string {
  const number = Number(text);
  const whole = /^-?\d+$/.test(text);
  return Number.isFinite(number) && (!whole || Number.isSafeInteger(number)) ? number : text;
}
