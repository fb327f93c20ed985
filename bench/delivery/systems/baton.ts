/**
 * Baton through its public interface with all features on: records on the chain, relations, events
 * and the index. One agent receives; each consumer is a session of that agent with 1, 16 or 64
 * loops of accept and complete.
 */
import { type Agent, type Hub, openHub, type Work } from "../../../src/index.ts";
import { type Body, now } from "../body.ts";
import type { Connection, Consuming, System, Tally } from "../system.ts";

const ONE = "accept(), one at a time";
const SIXTEEN = "accept(), 16 at a time";
const SIXTY_FOUR = "accept(), 64 at a time";
const AT_A_TIME: Readonly<Record<string, number>> = { [ONE]: 1, [SIXTEEN]: 16, [SIXTY_FOUR]: 64 };

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
  bulk: false,
  ways,
  acknowledgesCompletion: true,
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
  return {
    send: (body) =>
      planner.handoff({
        to: "coder",
        task: `task-${body.n}`,
        intent: "Refactor auth without breaking mobile logins",
        next: ["Extract validateToken()"],
        constraints: [{ rule: "Do not touch test fixtures", level: "must" }],
        payload: { type: "patch", data: body },
      }),
    consume: (how) =>
      consume(hub, way === "inbox" ? offers : acceptances, {
        ...how,
        inFlight: AT_A_TIME[way] ?? how.inFlight,
      }),
    totals: () => totalsOf(hub),
    close: () => hub.close(),
  };
}

type Source = (coder: Agent, signal: AbortSignal) => AsyncGenerator<ReceivedMessage>;

/** A received message, and how to complete it. */
interface ReceivedMessage {
  readonly body: Body;
  complete(): Promise<unknown>;
}

async function consume(hub: Hub, source: Source, how: Consuming) {
  const stop = new AbortController();
  const loops: Promise<void>[] = [];
  for (let consumer = 0; consumer < how.consumers; consumer++) {
    const coder = await hub.agent("coder", { role: "coder" });
    for (let i = 0; i < how.inFlight; i++) {
      loops.push(loop(source(coder, stop.signal), consumer, how).catch(how.failed));
    }
  }
  return {
    async stop() {
      stop.abort();
      await Promise.all(loops);
    },
  };
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
