/**
 * graphile-worker with batched completions: either one runner with the whole concurrency of the
 * process and a local queue (which fetches many jobs at once), or one runner per consumer without
 * it.
 */
import pg from "pg";
import { loadPeer } from "../../peers/load.ts";
import type { Body } from "../body.ts";
import type { Connection, Consuming, Consumption, System } from "../system.ts";

interface Utils {
  migrate(): Promise<void>;
  addJob(task: string, body: Body): Promise<unknown>;
  addJobs(jobs: readonly { identifier: string; payload: Body }[]): Promise<unknown>;
  release(): Promise<void>;
}

interface Runner {
  readonly promise: Promise<void>;
  stop(): Promise<void>;
}

interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => object;
  makeWorkerUtils(options: object): Promise<Utils>;
  run(options: object): Promise<Runner>;
}

const TASK = "handoff";
const CONNECTIONS = 16;
const LOCAL = "one runner, local queue";
const APART = "a runner for each consumer";

export const graphileWorker: System = {
  name: "graphile-worker",
  title: "graphile-worker",
  engine: "postgres",
  peer: true,
  synced: true,
  weight: 1,
  bulk: true,
  ways: { enqueue: LOCAL, rate: [LOCAL, APART], latency: [APART], kill: [APART] },
  acknowledgesCompletion: false,
  open,
};

async function open(address: string, way: string): Promise<Connection> {
  const graphile = await loadPeer<GraphileWorker>("graphile-worker");
  const logger = new graphile.Logger(() => () => {});
  const pool = openPool(address);
  const utils = await graphile.makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  return {
    send: (body) => utils.addJob(TASK, body),
    sendMany: (bodies) => utils.addJobs(bodies.map((payload) => ({ identifier: TASK, payload }))),
    consume: (how) => consume(graphile, { address, logger, way }, how),
    async totals() {
      const { rows } = await pool.query<{ left: number }>(
        "select count(*)::int as left from graphile_worker.jobs",
      );
      return { left: rows[0]?.left ?? Number.NaN, completed: undefined };
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

/** Opens a pool with the required error listeners; it replaces idle connections that end. */
function openPool(address: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: address, max: CONNECTIONS });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function consume(
  graphile: GraphileWorker,
  { way, address, logger }: { address: string; logger: object; way: string },
  how: Consuming,
): Promise<Consumption> {
  const runners: Runner[] = [];
  const pools: pg.Pool[] = [];
  const shared = way === LOCAL;
  const concurrency = shared ? how.consumers * how.inFlight : how.inFlight;
  for (let consumer = 0; consumer < (shared ? 1 : how.consumers); consumer++) {
    const pgPool = openPool(address);
    const runner = await graphile.run({
      pgPool,
      logger,
      concurrency,
      noHandleSignals: true,
      parsedCronItems: [],
      preset: {
        worker: {
          completeJobBatchDelay: 0,
          ...(shared ? { localQueue: { size: 4 * concurrency } } : {}),
        },
      },
      taskList: {
        async [TASK](body: Body) {
          await how.take(body, consumer);
          how.done(consumer);
        },
      },
    });
    runner.promise.catch(how.failed);
    runners.push(runner);
    pools.push(pgPool);
  }
  return {
    async stop() {
      await Promise.all(runners.map((runner) => runner.stop()));
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}
