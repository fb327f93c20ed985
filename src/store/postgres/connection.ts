/** Opens connections and pools, runs statements on them, and retries while the server is unavailable. */
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { PostgresAddress } from "./address.ts";
import { isDisconnected, isTransient, storeFailure } from "./failures.ts";

const INT8 = 20;
const CONNECT_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;

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
    types,
  };
}

/**
 * Returns a pool for reading, of at most `max` connections; a caller waits at most `waitMs` for one.
 *
 * The server may close a connection at any moment, even in the packet that reports it as ready, before the
 * caller can add a listener. Without a listener from the start, the process would end with an unhandled
 * error. Using such a connection fails with its next query.
 */
export function poolFor(
  address: PostgresAddress,
  { max, waitMs }: { readonly max: number; readonly waitMs: number },
): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max,
    connectionTimeoutMillis: waitMs,
    allowExitOnIdle: true,
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

/** Runs a statement and returns its rows. */
export async function runStatement(
  client: Pick<pg.ClientBase, "query">,
  { name, text }: Statement,
  values: readonly unknown[],
  address: PostgresAddress,
): Promise<Row[]> {
  const named = address.pgbouncer ? {} : { name };
  const result = await client.query<unknown[]>({
    ...named,
    text,
    values: values as unknown[],
    rowMode: "array",
  });
  return result.rows;
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
