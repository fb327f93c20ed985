/** A server that runs out of connections, or of space for notifications. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Hub, isBatonError, openHub } from "../../../src/index.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres/server.ts";
import { refused } from "../../support/refusal.ts";
import { until } from "../../support/until.ts";

const CONNECTIONS = 12;

let server: PostgresServer;

beforeAll(async () => {
  const connections = `max_connections=${CONNECTIONS}`;
  server = await startPostgres(["fsync=off", connections, "max_notify_queue_pages=64"]);
  await (await openHub(server.url)).close();
});

afterAll(() => server?.stop());

describe("a server without free connections", () => {
  it("delays the opening of a hub until a connection is free [OPS-10]", async () => {
    const others = await takeAll();
    const opening = openHub(server.url);
    const first = await Promise.race([opening, sleep(200).then(() => "waits")]);
    expect(first).toBe("waits");
    await others.leave();
    const hub = await opening;
    await hub.close();
  });

  it("makes calls of an open hub fail with store_busy after busyMs, and later calls succeed", async () => {
    const hub = await open({ limits: { busyMs: 1_000 } });
    const agent = await hub.agent("ann", { role: "worker" });
    const others = await takeAll();
    const expected = { code: "store_busy", path: /^postgres /, hint: /max_connections/ } as const;
    await refused(() => agent.remember({ content: "x" }), expected);
    await refused(() => hub.agents.list(), expected);
    await others.leave();
    const later = await until("it works again", () =>
      agent.remember({ content: "y" }).catch(undefinedIfBusy),
    );
    expect(later.seq).toBe(1);
    expect(await until("it reads", () => hub.agents.list().catch(undefinedIfBusy))).toHaveLength(1);
  });
});

describe("a server with a full notification queue", () => {
  it("still accepts writes, and waiting agents find their work by polling [DLV-13]", async () => {
    const hub = await open({ workspace: "full" });
    const other = await open({ workspace: "full" });
    const ann = await hub.agent("ann", { role: "worker" });
    const ben = await other.agent("ben", { role: "worker" });
    await using _full = await fillNotifications();
    const waiting = ben.accept({ wait: true });
    const tasks = Array.from({ length: 20 }, (_, n) => `t${n}`);
    await Promise.all(tasks.map((task) => ann.handoff({ to: "ben", task, intent: "Go" })));
    const first = await waiting;
    expect(first).toBeDefined();
    await first?.complete();
    // Claims and acceptances open a transaction: a failed notification must not be part of it.
    const work = async (): Promise<number> => {
      for (let done = 0; ; done++) {
        const taken = await ben.accept();
        if (taken === undefined) return done;
        await ann.handoff({ to: "ann", task: taken.delivery.task, intent: "See" });
        await taken.complete();
      }
    };
    const done = await Promise.all([work(), work(), work()]);
    expect(done.reduce((sum, each) => sum + each, 1)).toBe(tasks.length);
    expect((await hub.verify()).problems).toEqual([]);
    await expect(notify(server.url)).rejects.toThrow(/NOTIFY queue/); // Still full.
  });
});

async function open(options: Parameters<typeof openHub>[1]): Promise<Hub> {
  const hub = await openHub(server.url, options);
  onTestFinished(() => hub.close());
  return hub;
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(server.url);
  client.on("error", () => {});
  await client.connect();
  return client;
}

function undefinedIfBusy(error: unknown): undefined {
  if (!isBatonError(error) || error.code !== "store_busy") throw error;
  return undefined;
}

/** Takes all connections until they are released, also those of hubs, which reconnect. */
async function takeAll(): Promise<{ leave(): Promise<void> }> {
  const taken: pg.Client[] = [];
  const leave = async (): Promise<void> => {
    await Promise.all(taken.splice(0).map((client) => client.end()));
  };
  onTestFinished(leave);
  await until("all connections are taken", async () => {
    const client = await connect().catch(() => undefined);
    if (client !== undefined) taken.push(client);
    else await taken[0]?.query(END_HUBS);
    return taken.length === CONNECTIONS;
  });
  return { leave };
}

/** Ends the connections of hubs. */
const END_HUBS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'baton'";

async function notify(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("select pg_notify('anything', 'x')");
  } finally {
    await client.end();
  }
}

/** Fills the queue with a listener that receives nothing, because it never ends its transaction. */
async function fillNotifications(): Promise<AsyncDisposable> {
  const listener = await connect();
  await listener.query("listen noise");
  await listener.query("begin; select 1");
  const notifier = await connect();
  try {
    for (let n = 0; ; n++) {
      await notifier.query("select pg_notify('noise', $1)", [`${n}`.padEnd(7_990, "x")]);
    }
  } catch {
    // The queue is full.
  }
  for (let n = 0; ; n++) {
    const full = await notifier
      .query("select pg_notify('noise', $1)", [`${n}`])
      .catch(() => "full");
    if (full === "full") break;
  }
  await notifier.end();
  return { [Symbol.asyncDispose]: () => listener.end() };
}
