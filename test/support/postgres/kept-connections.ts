/**
 * Connections that outlive the store that made them. In each session the server compiles our functions and
 * plans their statements anew, which is most of what a test on PostgreSQL costs. So a connection to a schema
 * that is used again is not ended: it is reset, as a pooler does, and the next store on that schema gets it.
 * Plans are kept, as in a hub that has run for a while.
 *
 * A connection that was lost, or is ended in the middle of something, is ended for good.
 */
import pg from "pg";
import { inject } from "vitest";

/** Clears what a session keeps between transactions, except plans and prepared statements. */
const RESET = "reset all; unlisten *; select pg_advisory_unlock_all(); discard temp";

type Done = (error?: Error) => void;

/** The driver's client, with what its types leave out. */
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
/** Connections that wait for a store, the oldest first. */
const waiting: KeptClient[] = [];

/** From now on, connections to this schema are kept. */
export function keepConnections(schema: string): void {
  keptFor.add(schema);
}

/** The server's processes behind the connections that wait for a store on this schema. */
export function keptProcesses(schema: string): number[] {
  return waiting.filter((client) => client.schema === schema).map((client) => client.processID);
}

class KeptClient extends DriverClient {
  /** Undefined where the connection is ended with its store. */
  readonly schema: string | undefined;
  readonly #configured: string;
  #isConnected = false;

  constructor(config: pg.ClientConfig) {
    super(config);
    this.schema = [...keptFor].find((schema) => config.connectionString?.includes(schema));
    this.#configured = JSON.stringify(config);
  }

  /** One that waits, or a new one. */
  static for(config: pg.ClientConfig): KeptClient {
    const configured = JSON.stringify(config);
    const at = waiting.findIndex((each) => each.#configured === configured && each.#isUsable());
    const [kept] = at === -1 ? [] : waiting.splice(at, 1);
    if (kept === undefined) return new KeptClient(config);
    kept.removeAllListeners();
    kept.ref();
    return kept;
  }

  /** The driver calls back at once: a pool listens for errors from then on, which may be in the same packet. */
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
    this.on("error", () => {}); // Lost: it is not handed out again.
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

  /** Connected, in no transaction, and nothing under way. */
  #isUsable(): boolean {
    const isQuiet =
      !this._getActiveQuery() && this._sentQueryQueue.length + this._queryQueue.length === 0;
    return this._queryable && !this._ended && isQuiet && this.getTransactionStatus() === "I";
  }
}

/** The driver's way: a promise, and a callback where there is one. */
function answer(promise: Promise<void>, done: Done | undefined): Promise<void> {
  if (done !== undefined) promise.then(() => done(), done);
  return promise;
}

const DriverPool = pg.Pool;
/** What `new pg.Client()` says from now on. */
const Client = new Proxy(KeptClient, { construct: (_, [config]) => KeptClient.for(config) });

Object.assign(pg, {
  Client,
  Pool: class extends DriverPool {
    constructor(config: pg.PoolConfig) {
      super({ ...config, Client: Client as unknown as new () => pg.ClientBase });
    }
  },
});
