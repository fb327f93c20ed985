/**
 * Connections that outlive the store that opened them. In each session the server compiles our
 * functions and plans their statements again, which is most of the cost of a test on PostgreSQL. So
 * a connection to a reusable schema is not closed: it is reset, as a pooler does, and passed to the
 * next store on that schema. Plans are kept, as in a hub that has run for a while.
 *
 * A connection that was lost, or is closed in the middle of something, is closed for good.
 */
import pg from "pg";
import { inject } from "vitest";

/** Clears what a session keeps between transactions, except plans and prepared statements. */
const RESET = "reset all; unlisten *; select pg_advisory_unlock_all(); discard temp";

type Done = (error?: Error) => void;

/** The driver's client, with members that its types leave out. */
type Driver = Omit<pg.Client, "connect" | "end"> & {
  readonly processID: number;
  readonly _queryable: boolean;
  readonly _ended: boolean;
  readonly _queryQueue: readonly unknown[];
  readonly _sentQueryQueue: readonly unknown[];
  _getActiveQuery(): unknown;
  getTransactionStatus(): string | null;
  ref(): void;
  unref(): void;
  connect(done: Done): void;
  end(): Promise<void>;
};
const DriverClient = pg.Client as unknown as new (config: pg.ClientConfig) => Driver;

const keptFor = new Set<string>();
/** Connections that wait for a store, oldest first. */
const waiting: KeptClient[] = [];

/** Keeps connections to this schema from now on. */
export function keepConnections(schema: string): void {
  keptFor.add(schema);
}

/** Returns the server processes of the connections that wait for a store on this schema. */
export function keptProcesses(schema: string): number[] {
  return waiting.filter((client) => client.schema === schema).map((client) => client.processID);
}

class KeptClient extends DriverClient {
  /** Undefined if the connection is closed with its store. */
  readonly schema: string | undefined;
  readonly #configured: string;
  #isConnected = false;

  constructor(config: pg.ClientConfig) {
    super(config);
    this.schema = [...keptFor].find((schema) => config.connectionString?.includes(schema));
    this.#configured = JSON.stringify(config);
  }

  /** Returns a waiting connection, or a new one. */
  static for(config: pg.ClientConfig): KeptClient {
    const configured = JSON.stringify(config);
    const at = waiting.findIndex((each) => each.#configured === configured && each.#isUsable());
    const [kept] = at === -1 ? [] : waiting.splice(at, 1);
    if (kept === undefined) return new KeptClient(config);
    kept.removeAllListeners();
    kept.ref();
    return kept;
  }

  /**
   * Calls back synchronously, like the driver: a pool listens for errors from then on, which may be
   * in the same packet.
   */
  override connect(done?: Done): Promise<void> {
    if (this.#isConnected) return answer(Promise.resolve(), done);
    const connected = Promise.withResolvers<void>();
    super.connect((error) => {
      this.#isConnected = !error;
      if (error) connected.reject(error);
      else connected.resolve();
      done?.(error);
    });
    if (done !== undefined) connected.promise.catch(() => {}); // Reported to the callback.
    return connected.promise;
  }

  override end(done?: Done): Promise<void> {
    const isKept = this.schema !== undefined && this.#isUsable();
    return answer(isKept ? this.#keep() : super.end(), done);
  }

  async #keep(): Promise<void> {
    this.removeAllListeners();
    this.on("error", () => {}); // A lost connection is not used again.
    try {
      await this.query(RESET);
    } catch {
      return this.#endForGood();
    }
    if (!this.#isUsable()) return this.#endForGood();
    this.unref();
    waiting.push(this);
    const tooMany = Math.max(0, waiting.length - inject("keptConnections"));
    for (const oldest of waiting.splice(0, tooMany)) await oldest.#endForGood();
  }

  #endForGood(): Promise<void> {
    return super.end();
  }

  /** Returns whether the client is connected, in no transaction, and idle. */
  #isUsable(): boolean {
    const isQuiet =
      !this._getActiveQuery() && this._sentQueryQueue.length + this._queryQueue.length === 0;
    return this._queryable && !this._ended && isQuiet && this.getTransactionStatus() === "I";
  }
}

/** Reports the result like the driver: by a promise, and by a callback if there is one. */
function answer(promise: Promise<void>, done: Done | undefined): Promise<void> {
  if (done !== undefined) promise.then(() => done(), done);
  return promise;
}

const DriverPool = pg.Pool;
/** The replacement of `pg.Client` from now on. */
const Client = new Proxy(KeptClient, { construct: (_, [config]) => KeptClient.for(config) });

Object.assign(pg, {
  Client,
  Pool: class extends DriverPool {
    constructor(config: pg.PoolConfig) {
      super({ ...config, Client: Client as unknown as new () => pg.ClientBase });
    }
  },
});
