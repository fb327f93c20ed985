/**
 * pg-boss. Its workers sleep for at least half a second after a batch that was not full, unless
 * NOTIFY wakes them; NOTIFY makes sending slower. So both are run, and also a loop of fetch and
 * complete, which needs neither.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { loadPeer } from "../../peers/load.ts";
import type { Body } from "../body.ts";
import type { Connection, Consuming, Consumption, System } from "../system.ts";

interface Job {
  readonly id: string;
  readonly data: Body;
}

interface Boss {
  on(event: "error", listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: Body): Promise<unknown>;
  insert(name: string, jobs: readonly { data: Body }[]): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<readonly Job[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: readonly Job[]) => Promise<void>,
  ): Promise<string>;
  offWork(name: string): Promise<void>;
  getDb(): { executeSql(text: string): Promise<{ rows: readonly Record<string, unknown>[] }> };
}

interface PgBoss {
  readonly PgBoss: new (options: object) => Boss;
}

const QUEUE = "work";
const BATCH = 50;
const CONNECTIONS = 16;
const NOTIFY = "work() with NOTIFY, batches of 50";
const POLL = "work() polling, batches of 50";
const FETCH = "fetch() and complete(), batches of 50";

export const pgBoss: System = {
  name: "pg-boss",
  title: "pg-boss",
  engine: "postgres",
  peer: true,
  synced: true,
  weight: 1,
  bulk: true,
  ways: { enqueue: POLL, rate: [NOTIFY, POLL, FETCH], latency: [NOTIFY], kill: [NOTIFY] },
  acknowledgesCompletion: false,
  open,
};

async function open(address: string, way: string): Promise<Connection> {
  const { PgBoss } = await loadPeer<PgBoss>("pg-boss");
  const notify = way === NOTIFY;
  const boss = new PgBoss({
    connectionString: address,
    max: CONNECTIONS,
    useListenNotify: notify,
    schedule: false,
  });
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error}\n`));
  await boss.start();
  await boss.createQueue(QUEUE, { notify });
  return {
    send: (body) => boss.send(QUEUE, body),
    sendMany: (bodies) =>
      boss.insert(
        QUEUE,
        bodies.map((data) => ({ data })),
      ),
    consume: (how) => (way === FETCH ? fetchAndComplete(boss, how) : work(boss, how)),
    async totals() {
      const { rows } = await boss.getDb().executeSql(
        `select count(*) filter (where state <> 'completed')::int as left,
                count(*) filter (where state = 'completed')::int as completed
         from pgboss.job where name = '${QUEUE}'`,
      );
      return { left: Number(rows[0]?.["left"]), completed: Number(rows[0]?.["completed"]) };
    },
    close: () => boss.stop({ graceful: false }),
  };
}

async function work(boss: Boss, { consumers, take, done }: Consuming): Promise<Consumption> {
  const options = {
    batchSize: BATCH,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
  };
  for (let consumer = 0; consumer < consumers; consumer++) {
    await boss.work(QUEUE, options, async (jobs) => {
      await Promise.all(jobs.map((job) => take(job.data, consumer)));
      for (const _ of jobs) done(consumer);
    });
  }
  return { stop: () => boss.offWork(QUEUE) };
}

/** Polls again after 5 ms if the queue was empty. */
async function fetchAndComplete(boss: Boss, how: Consuming): Promise<Consumption> {
  let stopped = false;
  const loops = Array.from({ length: how.consumers }, async (_, consumer) => {
    while (!stopped) {
      const jobs = await boss.fetch(QUEUE, { batchSize: BATCH });
      if (jobs.length === 0) {
        await sleep(5);
        continue;
      }
      await Promise.all(jobs.map((job) => how.take(job.data, consumer)));
      await boss.complete(
        QUEUE,
        jobs.map((job) => job.id),
      );
      for (const _ of jobs) how.done(consumer);
    }
  });
  for (const loop of loops) loop.catch(how.failed);
  return {
    async stop() {
      stopped = true;
      await Promise.allSettled(loops);
    },
  };
}
