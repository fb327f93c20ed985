/** Opens connections and pools, runs statements on them, and retries while the server is unavailable. */
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { PostgresAddress } from "./address.ts";
import { isDisconnected, isTransient, storeFailure } from "./failures.ts";

const INT8 = 20;
const CONNECT_MS = 10_000;
const CLOSE_MS = 5_000;
/**
 * Idle time after which the system checks a connection. A server that does not respond to ten checks, one per
 * second, is considered lost, so that a listener or a long statement on a silent network ends after 20 s.
 */
const KEEP_ALIVE_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;

/** Time limit of a statement that reads or writes a whole workspace: verify, export, prune, vacuum. */
export const LONG_STATEMENT_MS = 600_000;

/** Parses bigint as number: all counters and times are within its range. */
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

/** Returns the driver's configuration for an address. */
export function clientConfig(address: PostgresAddress): pg.ClientConfig {
  return {
    connectionString: address.url,
    application_name: "baton",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types,
  };
}

/** Options of `poolFor`. */
export interface PoolOptions {
  readonly max: number;
  /** How long a caller waits for a connection. */
  readonly waitMs: number;
  /**
   * Time limit of each statement, kept by this process: a server that has not answered by then is considered
   * lost, and the connection is closed. Default: none.
   */
  readonly statementMs?: number;
}

/**
 * Returns a pool of connections.
 *
 * The server may close a connection at any moment, even in the packet that reports it as ready, before the
 * caller can add a listener. Without a listener from the start, the process would end with an unhandled
 * error. Using such a connection fails with its next query.
 */
export function poolFor(
  address: PostgresAddress,
  { max, waitMs, statementMs }: PoolOptions,
): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max,
    connectionTimeoutMillis: waitMs,
    allowExitOnIdle: true,
    ...(statementMs === undefined ? {} : { query_timeout: statementMs }),
  });
  const ignore = (): void => {};
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  return pool;
}

/** Sets whether a connection keeps the process alive. The driver's types lack these methods. */
export function keepProcessAlive(client: pg.ClientBase, alive: boolean): void {
  const connected = client as pg.ClientBase & { ref(): void; unref(): void };
  if (alive) connected.ref();
  else connected.unref();
}

/** Sends several messages in one packet: each write to a socket costs about 50 µs. */
export function sendInOnePacket<const T>(client: pg.Client, send: () => T): T {
  const { stream } = (client as pg.Client & { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** A statement. By its name it is planned once per connection; behind a pooler names are not used. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A row as an array of values, in the order of the selected columns. */
export type Row = readonly unknown[];

/** How to run a statement. */
export interface StatementOptions extends Pick<PostgresAddress, "pgbouncer"> {
  /** Default: the limit of the connection. */
  readonly statementMs?: number;
}

/** Runs a statement and returns its rows. */
export async function runStatement(
  client: Pick<pg.ClientBase, "query">,
  { name, text }: Statement,
  values: readonly unknown[],
  { pgbouncer, statementMs }: StatementOptions,
): Promise<Row[]> {
  return queryRows(client, {
    ...(pgbouncer ? {} : { name }),
    ...(statementMs === undefined ? {} : { query_timeout: statementMs }),
    text,
    values: values as unknown[],
  });
}

/** Runs a query and returns its rows. The driver's types lack the time limit of a single query. */
export async function queryRows(
  client: Pick<pg.ClientBase, "query">,
  query: pg.QueryConfig & { readonly query_timeout?: number },
): Promise<Row[]> {
  return (await client.query<unknown[]>({ ...query, rowMode: "array" })).rows;
}

/** Waits until connections are closed, but not longer than 5 s for a server that does not respond. */
export async function untilClosed(closing: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([closing.catch(() => {}), late]);
  clearTimeout(timer);
}

/** Retries while the server is unavailable or a conflict aborts it. Each attempt starts from scratch. */
export async function retryWhileUnavailable<T>(
  attempt: () => Promise<T>,
  options: { readonly forMs: number; readonly store: string },
): Promise<T> {
  const giveUpAt = performance.now() + options.forMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    try {
      return await attempt();
    } catch (error) {
      const passing = isDisconnected(error) || isTransient(error);
      if (!passing || performance.now() + pause > giveUpAt) {
        throw storeFailure(error, options.store);
      }
    }
    await sleep(pause * (0.5 + Math.random() / 2));
  }
}
