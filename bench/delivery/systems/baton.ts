/**
 * Baton through its public interface with all features on: records on the chain, relations, events
 * and the index. One agent receives; each consumer is a session of that agent with a worker loop of
 * 1, 16 or 64 handlers. Latency is also measured with `accept()` and `inbox()`.
 */
import { type Agent, type Hub, openHub, type Work } from "../../../src/index.ts";
import { type Body, now } from "../body.ts";
import type { Connection, Consuming, System, Tally } from "../system.ts";

const ONE = "work(), concurrency 1";
const SIXTEEN = "work(), concurrency 16";
const SIXTY_FOUR = "work(), concurrency 64";
const CONCURRENCY: Readonly<Record<string, number>> = { [ONE]: 1, [SIXTEEN]: 16, [SIXTY_FOUR]: 64 };

const ways = {
  enqueue: "accept",
  rate: [ONE, SIXTEEN, SIXTY_FOUR],
  latency: ["accept", "inbox"],
  kill: ["accept"],
};

export const batonSqlite: System = {
  name: "baton-sqlite",
  title: "Baton, SQLite",
  engine: "sqlite",
  peer: false,
  synced: true,
  weight: 6,
  bulk: true,
  ways,
  acknowledgesCompletion: false,
  open,
};

export const batonPostgres: System = {
  ...batonSqlite,
  name: "baton-postgres",
  title: "Baton, PostgreSQL",
  engine: "postgres",
  weight: 3,
};

async function open(address: string, way: string): Promise<Connection> {
  // A run enqueues more than the default inbox limit, and the other systems have no limit.
  const hub = await openHub(address, { limits: { inbox: 10_000_000 } });
  const planner = await hub.agent("planner", { role: "planner" });
  await hub.agent("coder", { role: "coder" });
  const concurrency = CONCURRENCY[way];
  return {
    send: (body) => planner.handoff(draftOf(body)),
    sendMany: (bodies) => planner.handoffMany(bodies.map(draftOf)),
    consume: (how) =>
      concurrency === undefined
        ? consume(hub, way === "inbox" ? offers : acceptances, how)
        : work(hub, concurrency, how),
    totals: () => totalsOf(hub),
    close: () => hub.close(),
  };
}

const draftOf = (body: Body) => ({
  to: "coder",
  task: `task-${body.n}`,
  intent: "Refactor auth without breaking mobile logins",
  next: ["Extract validateToken()"],
  constraints: [{ rule: "Do not touch test fixtures", level: "must" as const }],
  payload: { type: "patch", data: body },
});

/** Starts a worker loop for each consumer. */
async function work(hub: Hub, concurrency: number, how: Consuming) {
  const { signal, stop } = stopper();
  const loops: Promise<unknown>[] = [];
  for (let consumer = 0; consumer < how.consumers; consumer++) {
    const coder = await hub.agent("coder", { role: "coder" });
    const handle = async ({ envelope }: Work): Promise<string> => {
      await how.take(bodyIn(envelope), consumer);
      how.done(consumer);
      return "done";
    };
    const options = { concurrency, signal, onError: how.failed };
    loops.push(coder.work(handle, options).catch(how.failed));
  }
  return { stop: () => stop(loops) };
}

function stopper() {
  const controller = new AbortController();
  const stop = async (loops: readonly Promise<unknown>[]): Promise<void> => {
    controller.abort();
    await Promise.all(loops);
  };
  return { signal: controller.signal, stop };
}

type Source = (coder: Agent, signal: AbortSignal) => AsyncGenerator<ReceivedMessage>;

/** A received message, and how to complete it. */
interface ReceivedMessage {
  readonly body: Body;
  complete(): Promise<unknown>;
}

async function consume(hub: Hub, source: Source, how: Consuming) {
  const { signal, stop } = stopper();
  const loops: Promise<void>[] = [];
  for (let consumer = 0; consumer < how.consumers; consumer++) {
    const coder = await hub.agent("coder", { role: "coder" });
    for (let i = 0; i < how.inFlight; i++) {
      loops.push(loop(source(coder, signal), consumer, how).catch(how.failed));
    }
  }
  return { stop: () => stop(loops) };
}

async function loop(
  source: AsyncGenerator<ReceivedMessage>,
  consumer: number,
  how: Consuming,
): Promise<void> {
  for await (const message of source) {
    await how.take(message.body, consumer);
    const start = now();
    await message.complete();
    how.timed(now() - start);
    how.done(consumer);
  }
}

/** Claims and accepts in one step. */
async function* acceptances(coder: Agent, signal: AbortSignal): AsyncGenerator<ReceivedMessage> {
  for (;;) {
    const work = await coder.accept({ wait: true, signal });
    if (work === undefined) return;
    yield {
      body: bodyIn(work.envelope),
      complete: () => work.complete({ summary: "done" }),
    };
  }
}

/** Receives offers; each is accepted when it is completed. */
async function* offers(coder: Agent, signal: AbortSignal): AsyncGenerator<ReceivedMessage> {
  for await (const offer of coder.inbox({ signal })) {
    yield {
      body: bodyIn(offer.envelope),
      complete: async () => (await offer.accept()).complete({ summary: "done" }),
    };
  }
}

function bodyIn(envelope: Work["envelope"]): Body {
  return envelope.payload?.data as Body;
}

async function totalsOf(hub: Hub): Promise<Tally> {
  const { deliveries, byState } = await hub.deliveries.totals();
  return { left: deliveries - byState.completed, completed: byState.completed };
}
