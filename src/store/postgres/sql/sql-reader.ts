/**
 * Runs SQL queries on PostgreSQL, on connections used for nothing else: read-only, on one snapshot, with a
 * timeout, and disconnected when the result exceeds its limit.
 */
import type { Duplex } from "node:stream";
import type pg from "pg";
import { sizeOf } from "../../sql/row-size.ts";
import type { QueryOutcome, RunQuery, SqlValue } from "../../sql-query.ts";
import type { PostgresAddress } from "../address.ts";
import { poolFor, retryWhileUnavailable } from "../connection.ts";
import { isDisconnected, sqlState } from "../failures.ts";
import { prepareQuery } from "./prepare-query.ts";

/** Connections of one hub for SQL queries. */
const MAX_CONNECTIONS = 2;
/** Extra time for the server to cancel the query before the connection is closed. */
const GRACE_MS = 2_000;
/** Allowance for protocol overhead in addition to the values. */
const OVERHEAD_BYTES = 1024 * 1024;

const CANCELLED = "57014";
const READ_ONLY = "25006";
/** Error codes for exceeded memory, temporary files and value size. */
const TOO_LARGE = new Set(["53200", "53400", "54000"]);

/** Limits temporary files. Only superusers may set this; other users have the server's limit. */
const BOUND_FILES = `select set_config('temp_file_limit', '512MB', true)
  where current_setting('is_superuser') = 'on'`;

/** Runs read-only queries for one store. */
export class SqlReader {
  readonly #address: PostgresAddress;
  readonly #pool: pg.Pool;
  readonly #forMs: number;

  constructor(address: PostgresAddress, forMs: number) {
    this.#address = address;
    this.#forMs = forMs;
    this.#pool = poolFor(address, { max: MAX_CONNECTIONS, waitMs: forMs });
  }

  /** Checks and runs a query. Retries while the server is unavailable, at most for the store's wait time. */
  async query(query: RunQuery): Promise<QueryOutcome> {
    const prepared = await prepareQuery(query, this.#address.schema);
    if (prepared.kind !== "prepared") return prepared;
    const { name } = this.#address;
    return retryWhileUnavailable(() => this.#run(prepared.text, query), {
      forMs: this.#forMs,
      store: name,
    });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #run(text: string, { params, bounds }: RunQuery): Promise<QueryOutcome> {
    const client = await this.#pool.connect();
    const cutOff = cutOffAfter(client, bounds.bytes * 2 + OVERHEAD_BYTES);
    const timer = setTimeout(() => cutOff.now("timeout"), bounds.ms + GRACE_MS);
    let broken = false;
    try {
      await client.query(settings(bounds.ms));
      const values = params.map((value) => value as unknown);
      const result = await client.query<unknown[]>({ text, values, rowMode: "array", types });
      await client.query("rollback");
      const rows = result.rows as SqlValue[][];
      if (rows.length > bounds.rows) return { kind: "too_large", bound: "rows" };
      const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
      if (bytes > bounds.bytes) return { kind: "too_large", bound: "bytes" };
      const columns = result.fields.map(({ name }) => name);
      return { kind: "answered", columns, rows };
    } catch (error) {
      broken = true; // The connection may be in any state: discard it.
      return cutOff.reason() ?? outcomeOf(error);
    } finally {
      clearTimeout(timer);
      cutOff.stop();
      client.release(broken);
    }
  }
}

/** Settings that determine how the query is interpreted and how much it may use. */
const settings = (ms: number): string => `
  begin isolation level repeatable read read only;
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
`;

interface CutOff {
  now(why: "timeout" | "bytes"): void;
  reason(): QueryOutcome | undefined;
  stop(): void;
}

/** Counts received bytes before they are parsed, and closes the connection when there are too many. */
function cutOffAfter(client: pg.PoolClient, most: number): CutOff {
  const { stream } = (client as pg.PoolClient & { connection: { stream: Duplex } }).connection;
  let arrived = 0;
  let why: "timeout" | "bytes" | undefined;
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
