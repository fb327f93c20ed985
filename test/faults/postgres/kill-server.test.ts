/**
 * Restarts and crashes the server under load, again and again: hubs must reconnect by themselves,
 * and what was acknowledged before, during and after must be stored once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Hub, type HubEvent, openHub } from "../../../src/index.ts";
import { type Child, type ChildEnd, startChild } from "../../support/child.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres/server.ts";
import { chosenSeed, type Random, randomFrom } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";
import { until } from "../../support/until.ts";
import type { Fact } from "../kill-facts.ts";
import { CHILD, type Reckoning, reckon } from "../kill-run.ts";
import { withConnectionName } from "../server-done.ts";

const HUBS = 3;
/**
 * How the server ends: as after a power failure, in order, or by a crash of one of its processes.
 */
const ENDINGS = ["immediate", "fast", "crash"] as const;
const ROUNDS = runs(1);
const TIMEOUT_MS = 120_000 + ROUNDS * 60_000;
const LONGEST_CALM_MS = 300;
/** Acknowledgements that each hub must report between two endings of the server. */
const SIGNS_OF_LIFE = 5;

const seed = chosenSeed();

interface LivingHub {
  readonly child: Child;
  readonly facts: Fact[];
}

describe(`a server that goes down under load (BATON_SEED=${seed})`, { timeout: TIMEOUT_MS }, () => {
  let server: PostgresServer;
  let hubs: readonly LivingHub[] = [];
  let ends: readonly ChildEnd[] = [];
  let reckoning: Reckoning;
  /** The events that a polling reader saw, and all events that were stored at the end. */
  let seen: readonly HubEvent[] = [];
  let stored: readonly HubEvent[] = [];

  beforeAll(async () => {
    // Nothing reaches the disk unless a client waits for it.
    server = await startPostgres(["fsync=off", "wal_writer_delay=10s"]);
    const random = randomFrom(seed);
    const address = withConnectionName(server.url, "killed");
    hubs = Array.from({ length: HUBS }, () => startHub(address, random.below(2 ** 31)));
    await signsOfLife(hubs);
    const reader = await openHub(server.url);
    const reading = readAlong(reader);
    const endings = Array.from({ length: ROUNDS }, () => shuffled(ENDINGS, random)).flat();
    for (const ending of endings) {
      await sleep(random.below(LONGEST_CALM_MS));
      await endServer(server, ending);
      await signsOfLife(hubs);
    }
    // On a busy machine, all work so far may have been interrupted.
    await until("something was completed", () =>
      hubs.some(({ facts }) => facts.some(({ kind }) => kind === "completed")),
    );
    for (const { child } of hubs) child.kill();
    ends = await Promise.all(hubs.map(({ child }) => child.ended));
    seen = await reading.end();
    stored = await allEvents(reader);
    await reader.close();
    reckoning = await reckon(
      address,
      hubs.flatMap(({ facts }) => facts),
    );
    const { byKind, redelivered } = reckoning;
    console.log(`server ${endings.join(", ")}, seed ${seed}:`, byKind, "redelivered", redelivered);
  }, TIMEOUT_MS);

  afterAll(async () => {
    for (const { child } of hubs) child.kill();
    await Promise.all(hubs.map(({ child }) => child.ended));
    await server?.stop();
  });

  it("is reconnected to by every hub, without an error for any caller", () => {
    expect(ends).toEqual(hubs.map(() => ({ code: null, signal: "SIGKILL", stderr: "" })));
    expect(reckoning.byKind["error"] ?? 0, errorsOf(hubs)).toBe(0);
  });

  it("keeps every acknowledged write once, without gaps in chains or events [DLV-1 DLV-6 OPS-10]", () => {
    expect(reckoning.byKind["completed"] ?? 0).toBeGreaterThan(0);
    expect(reckoning.violations).toEqual([]);
  });

  it("shows a polling reader every event in order, and none that disappears later [OPS-10]", () => {
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toEqual(stored.slice(0, seen.length));
  });

  it("keeps acknowledged writes even if the database sets synchronous_commit = off [DLV-1]", async () => {
    await query(server, "alter database postgres set synchronous_commit = off");
    await using hub = await openHub(`${server.url}?schema=lazy`);
    const agent = await hub.agent("ann", { role: "writer" });
    for (let times = 0; times < ROUNDS; times++) {
      const { id } = await agent.remember({ content: `before the end ${times}` });
      const { id: sent } = await agent.handoff({ to: "ann", task: `t${times}`, intent: "Go on" });
      const work = await agent.accept();
      await server.restart("immediate");
      expect((await agent.memories.read(id)).id).toBe(id);
      expect((await work?.complete())?.kind).toBe("settled");
      await server.restart("immediate");
      expect(
        (await agent.deliveries.waiting()).items.map(({ delivery }) => delivery.id),
      ).not.toContain(sent);
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("acknowledges a write only when it is on disk, not when it is committed [DLV-1]", async () => {
    await using scene = await slowDisk("unsynced");
    const remembering = scene.ann.remember({ content: "x" });
    const committed = () =>
      query(
        server,
        `select 1 from unsynced.memories m
          join unsynced.chains c on c.workspace = m.workspace and c.key = m.chain
          where c.branch = 'main'`,
      );
    await until("it is committed", async () => (await committed()).length > 0);
    await server.restart("immediate");
    const { id } = await remembering;
    expect((await scene.reader.memories.read(id)).id).toBe(id);
    expect((await scene.reader.memories.recent()).items).toHaveLength(1);
  });

  it("keeps an event that a reader has seen, even if its writer was not acknowledged yet [OPS-10]", async () => {
    await using scene = await slowDisk("seen");
    const { ann, reader } = scene;
    const sending = ann.handoff({ to: "ann", task: "t", intent: "Go on" });
    const events = await until("the event is seen", async () => {
      const all = (await reader.events.list()).items;
      return all.length > 0 && all;
    });
    await server.restart("immediate");
    expect((await reader.events.list()).items).toEqual(events);
    await sending;
    expect((await reader.events.list()).items).toEqual(events);
  });

  /** Opens two hubs on a store whose sync to disk hangs until the server is restarted. */
  async function slowDisk(schema: string) {
    const address = `${server.url}?schema=${schema}`;
    const writer = await openHub(address);
    const reader = await openHub(address);
    const ann = await writer.agent("ann", { role: "worker" });
    const [started] = await query(server, "select pg_postmaster_start_time()::text as at");
    // In one transaction: a hub that syncs meanwhile finds the old function or the new one.
    await query(
      server,
      `alter function ${schema}.sync() rename to sync_later;
       create function ${schema}.sync() returns void language sql as
       $$select pg_sleep(60) where pg_postmaster_start_time()::text = '${started?.["at"]}';
       select ${schema}.sync_later()$$`,
    );
    return {
      ...{ ann, reader },
      async [Symbol.asyncDispose]() {
        await Promise.all([writer.close(), reader.close()]);
      },
    };
  }
});

function startHub(address: string, childSeed: number): LivingHub {
  const facts: Fact[] = [];
  const child = startChild(CHILD, [address, String(childSeed)], (line) => {
    facts.push(JSON.parse(line) as Fact);
  });
  return { child, facts };
}

/** Polls events with a cursor, across restarts of the server. */
function readAlong(hub: Hub): { end(): Promise<HubEvent[]> } {
  const seen: HubEvent[] = [];
  let ended = false;
  const poll = async (): Promise<void> => {
    while (!ended) {
      seen.push(...(await hub.events.list({ after: seen.at(-1)?.number ?? 0, limit: 50 })).items);
      await sleep(1);
    }
  };
  const polling = poll();
  return {
    async end() {
      ended = true;
      await polling;
      return seen;
    },
  };
}

async function allEvents(hub: Hub): Promise<HubEvent[]> {
  const all: HubEvent[] = [];
  for (;;) {
    const events = (await hub.events.list({ after: all.at(-1)?.number ?? 0, limit: 1_000 })).items;
    if (events.length === 0) return all;
    all.push(...events);
  }
}

async function endServer(server: PostgresServer, how: (typeof ENDINGS)[number]): Promise<void> {
  if (how !== "crash") return await server.restart(how);
  await withClient(server, async (client) => {
    const { rows } = await client.query(
      "select pid from pg_stat_activity where application_name in ('baton', 'killed') limit 1",
    );
    // When one process of the server dies, the server ends the others and replays the log. A busy
    // server may take a while to notice; it has noticed when it ends this connection too.
    const noticed = new Promise((resolve) => client.once("end", resolve));
    process.kill(rows[0]?.["pid"] as number, "SIGKILL");
    await noticed;
  });
}

const query = (server: PostgresServer, text: string): Promise<Record<string, unknown>[]> =>
  withClient(server, async (client) => (await client.query(text)).rows);

async function withClient<T>(
  server: PostgresServer,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(server.url);
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits until each hub has reported several new acknowledgements, or has ended. */
async function signsOfLife(hubs: readonly LivingHub[]): Promise<void> {
  await Promise.all(
    hubs.map(async ({ child, facts }) => {
      let ended = false;
      void child.ended.then(() => {
        ended = true;
      });
      const before = facts.length;
      while (facts.length < before + SIGNS_OF_LIFE && !ended) await sleep(5);
    }),
  );
}

function errorsOf(hubs: readonly LivingHub[]): string {
  const all = hubs.flatMap(({ facts }) => facts);
  return all.flatMap((fact) => (fact.kind === "error" ? fact.message : [])).join("\n");
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => [random.next(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}
