/** BullMQ on Redis, with each of two sync settings. Finished jobs are kept (the default). */
import { loadPeer } from "../../peers/load.ts";
import type { Body } from "../body.ts";
import type { Connection, Consuming, System } from "../system.ts";

interface Job {
  readonly name: string;
  readonly data: Body;
}

interface Queue {
  add(name: string, data: Body): Promise<unknown>;
  addBulk(jobs: readonly Job[]): Promise<unknown>;
  getJobCounts(): Promise<Readonly<Record<string, number>>>;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

interface Worker {
  on(event: "completed", listener: () => void): void;
  on(event: "error" | "failed", listener: (...what: unknown[]) => void): void;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

interface BullMq {
  readonly Queue: new (name: string, options: object) => Queue;
  readonly Worker: new (
    name: string,
    process: (job: Job) => Promise<void>,
    options: object,
  ) => Worker;
}

const QUEUE = "work";
const ONE = "concurrency 1";
const SIXTEEN = "concurrency 16";
const SIXTY_FOUR = "concurrency 64";
const CONCURRENCY: Readonly<Record<string, number>> = { [ONE]: 1, [SIXTEEN]: 16, [SIXTY_FOUR]: 64 };

export const bullmqEverysec: System = {
  name: "bullmq-everysec",
  title: "BullMQ, Redis everysec",
  engine: "redis-everysec",
  peer: true,
  synced: false,
  weight: 3,
  bulk: true,
  ways: { enqueue: ONE, rate: [ONE, SIXTEEN, SIXTY_FOUR], latency: [SIXTEEN], kill: [ONE] },
  acknowledgesCompletion: true,
  open,
};

export const bullmqAlways: System = {
  ...bullmqEverysec,
  name: "bullmq-always",
  title: "BullMQ, Redis always",
  engine: "redis-always",
  synced: true,
};

async function open(address: string, way: string): Promise<Connection> {
  const bullmq = await loadPeer<BullMq>("bullmq");
  const { hostname: host, port } = new URL(address);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new bullmq.Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  return {
    send: (body) => queue.add("handoff", body),
    sendMany: (bodies) => queue.addBulk(bodies.map((data) => ({ name: "handoff", data }))),
    async consume(how) {
      const concurrency = CONCURRENCY[way] ?? how.inFlight;
      const workers = Array.from({ length: how.consumers }, (_, consumer) =>
        work(bullmq, { connection, concurrency }, { ...how, consumer }),
      );
      await Promise.all(workers.map((worker) => worker.waitUntilReady()));
      return {
        async stop() {
          await Promise.all(workers.map((worker) => worker.close()));
        },
      };
    },
    async totals() {
      const { completed = 0, ...others } = await queue.getJobCounts();
      return { left: Object.values(others).reduce((sum, count) => sum + count, 0), completed };
    },
    close: () => queue.close(),
  };
}

function work(
  bullmq: BullMq,
  options: object,
  { consumer, take, done, failed }: Consuming & { consumer: number },
): Worker {
  const worker = new bullmq.Worker(QUEUE, (job) => take(job.data, consumer), options);
  worker.on("completed", () => done(consumer));
  worker.on("failed", (_job, error) => failed(error));
  worker.on("error", failed);
  return worker;
}
