/**
 * Disturbances that a database causes for its clients: it ends connections, blocks them, cancels
 * statements and runs out of connections. A call succeeds if the disturbance ends in time, and
 * fails with `store_busy` if it lasts; nothing is ever half done.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { randomIdGenerator } from "../../../src/base/ids.ts";
import {
  type Agent,
  type Hub,
  type HubOptions,
  isBatonError,
  openHub,
  type Work,
} from "../../../src/index.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { workspaceRows } from "../../support/postgres/rows.ts";
import { postgresUrl, type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { refused } from "../../support/refusal.ts";
import { until } from "../../support/until.ts";

/** Long enough for any call that is not blocked, short enough to wait for the timeout. */
const SHORT = { limits: { busyMs: 1_000 } } as const;
/**
 * Lets the server report that a wait took too long, before the client gives up on a busy machine.
 */
const WAITING = { query_timeout: "60000" } as const;
/**
 * For statements that sleep: longer than any other statement takes, and over long before they wake.
 */
const STATEMENT_MS = 1_000;
const ASLEEP_S = 30;

let schema: TestSchema;

beforeAll(async () => {
  schema = testSchema();
  await (await openHub(schema.address)).close(); // Creates the tables before short limits apply.
});

afterAll(() => schema[Symbol.asyncDispose]());

interface Scene extends AsyncDisposable {
  readonly hub: Hub;
  readonly ann: Agent;
  /** Application name of the hub's connections. */
  readonly name: string;
  readonly workspace: string;
}

/** Opens a hub in a workspace of its own. */
async function openScene(
  options: HubOptions = {},
  settings: Record<string, string> = {},
): Promise<Scene> {
  const name = `outage ${randomUUID()}`;
  const workspace = options.workspace ?? name.replaceAll(" ", "-");
  const address = new URL(schema.address);
  const all = { ...settings, application_name: name };
  for (const [key, value] of Object.entries(all)) address.searchParams.set(key, value);
  const hub = await patiently(() => openHub(address.href, { ...options, workspace }));
  const ann = await patiently(() => hub.agent("ann", { role: "worker" }));
  return { hub, ann, name, workspace, [Symbol.asyncDispose]: () => hub.close() };
}

interface Session extends AsyncDisposable {
  query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
}

/** Opens another session, in a transaction until the caller ends it. */
async function otherSession(name = schema.schema): Promise<Session> {
  const client = new pg.Client(postgresUrl());
  await client.connect();
  await client.query(`set search_path = ${name}`);
  await client.query("begin");
  return {
    query: (text, values = []) => client.query(text, values),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** Retries a call that failed with `store_busy`, which stores nothing. */
function patiently<T extends object>(act: () => Promise<T>): Promise<T> {
  return until("the server has time for it", () => act().catch(undefinedIfBusy));
}

function undefinedIfBusy(error: unknown): undefined {
  if (!isBatonError(error) || error.code !== "store_busy") throw error;
  return undefined;
}

async function expectUnchanged(workspace: string, act: () => Promise<unknown>): Promise<void> {
  const before = await workspaceRows(schema, workspace);
  await act();
  expect(await workspaceRows(schema, workspace)).toEqual(before);
}

describe("terminated connections", () => {
  it("under load cause no error for any caller, and each call takes effect once [DLV-1 OPS-10]", async () => {
    await using scene = await openScene();
    const { hub, ann, name } = scene;
    let busy = true;
    let rounds = 0;
    const load = Array.from({ length: 8 }, async (_, caller) => {
      let done = 0;
      while (busy) {
        await ann.remember({ content: `${caller} ${done}` });
        await ann.handoff({ to: "ann", task: `${caller} ${done}`, intent: "Carry it" });
        await (await ann.accept())?.complete();
        done++;
        rounds++;
      }
      return done;
    });
    for (let times = 0; times < 10; times++) {
      const before = rounds;
      await until("something was done since", () => rounds > before);
      await schema.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
        [name],
      );
      await hub.deliveries.totals();
    }
    busy = false;
    const done = (await Promise.all(load)).reduce((sum, each) => sum + each, 0);
    expect(done).toBeGreaterThan(0);
    const { problems } = await hub.verify();
    expect(problems).toEqual([]);
    const { byState, deliveries } = await hub.deliveries.totals();
    expect(deliveries).toBe(done);
    // A caller that finds everything reserved by others gets nothing; the delivery stays ready.
    expect(byState.completed + byState.ready).toBe(done);
  });

  it("do not fail a claim when the server ends a transaction that the hub left idle", async () => {
    let stall = false;
    const { mint, salt } = randomIdGenerator(systemClock);
    const ids = {
      salt,
      mint: (kind: Parameters<typeof mint>[0]) => {
        if (stall) holdUp();
        stall = false;
        return mint(kind);
      },
    };
    await using scene = await openScene({ ids });
    const { hub, ann, name } = scene;
    await ann.handoff({ to: "ann", task: "t", intent: "Go" });
    const before = await connectionsOf(name);
    const impatient = (pick: string) => pick.replace("'3000'", "'200'");
    const work = await changing("pick", impatient, async () => {
      stall = true;
      return await ann.accept();
    });
    expect(work?.delivery.attempt).toBe(1);
    const after = await connectionsOf(name);
    expect(before.filter((pid) => !after.includes(pid))).toHaveLength(1);
    await work?.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("are replaced when they end in the packet that reports them as ready [OPS-10]", async () => {
    await using proxy = await startProxy(postgresUrl());
    // With a clock of its own, a hub sets no timers: they would open another connection at some moment.
    const options = { workspace: "ready", clock: systemClock };
    await using hub = await openHub(proxy.through(schema.address), options);
    await hub.agent("ann", { role: "worker" });
    const before = proxy.made;
    // The pool starts empty: whichever connection is made first, no verification ends before three have ended.
    proxy.endsNew = 3;
    proxy.dropAll();
    const checked = await Promise.all(Array.from({ length: 4 }, () => hub.verify()));
    expect(checked.flatMap(({ problems }) => problems)).toEqual([]);
    expect(proxy.endsNew).toBe(0);
    expect(proxy.made - before).toBeGreaterThanOrEqual(3);
  });

  it("do not stop a closing hub from answering the calls it has [DLV-1]", async () => {
    await using proxy = await startProxy(postgresUrl());
    await using scene = await openScene();
    const hub = await openHub(proxy.through(schema.address), { workspace: scene.workspace });
    const ann = await hub.agent("ann");
    await ann.handoff({ to: "ann", task: "t", intent: "Go" });
    const work = await ann.accept();
    proxy.breakAt("baton_write\0", "unheard");
    const answers = [ann.remember({ content: "x" }), work?.complete()] as const;
    await hub.close();
    expect((await answers[0]).content).toBe("x");
    expect((await answers[1])?.kind).toBe("settled");
    expect((await scene.hub.deliveries.totals()).byState.completed).toBe(1);
  });

  it("do not stop a hub from closing when the server stays unreachable", async () => {
    await using proxy = await startProxy(postgresUrl());
    const hub = await openHub(proxy.through(schema.address), { workspace: "cut-off" });
    const agent = await hub.agent("ann", { role: "worker" });
    for await (const _ of agent.inbox({ wait: false }));
    await agent.memories.recent();
    proxy.open = false;
    proxy.dropAll();
    await hub.close();
  });
});

describe.concurrent("a connection that stops responding", () => {
  it("times out with store_unavailable, and the error says that the outcome is uncertain [DLV-1]", async () => {
    await using proxy = await startProxy(postgresUrl());
    await using scene = await openScene();
    const { workspace } = scene;
    const address = proxy.through(schema.address);
    await using hub = await patiently(() => openHub(address, { ...SHORT, workspace }));
    const agent = await patiently(() => hub.agent("ann"));
    const fault = proxy.breakAt("baton_write\0", "silent");
    const expected = { code: "store_unavailable", path: /^postgres / } as const;
    const error = await refused(() => agent.remember({ content: "x" }), expected);
    expect(error.details).toMatchObject({ uncertain: true });
    expect(error.hint).toMatch(/check whether the write exists/);
    await fault.happened;
    expect((await scene.ann.remember({ content: "y" })).seq).toBe(1);
    expect((await patiently(() => agent.remember({ content: "z" }))).seq).toBe(2);
  });

  it("does not keep a delivery reserved for a hub that vanished between query and write [DLV-6]", async () => {
    await using proxy = await startProxy(postgresUrl());
    await using scene = await openScene();
    const { ann, workspace } = scene;
    const vanished = await openHub(proxy.through(schema.address), { workspace });
    const itsAnn = await vanished.agent("ann");
    await ann.handoff({ to: "ann", task: "t", intent: "Go" });
    const later = (pick: string) => pick.replace("'3000'", "'4000'");
    await changing("pick", later, async () => {
      const fault = proxy.breakAt("baton_write\0", "late");
      const taking = itsAnn.accept().catch(() => undefined);
      await fault.happened;
      proxy.open = false;
      // Reserved, until the server has waited long enough for the rest of the transaction.
      expect(await ann.accept()).toBeUndefined();
      const work = await ann.accept({ wait: true });
      expect(work?.delivery.attempt).toBe(1);
      proxy.open = true;
      expect(await taking).toBeUndefined();
    });
    await vanished.close();
  });
});

describe.concurrent("a workspace lock held by another session", () => {
  const lock = (other: Session, workspace: string) =>
    other.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `${schema.schema} ${workspace}`,
    ]);

  it("delays a write until it is released", async () => {
    await using scene = await openScene();
    const { ann, workspace } = scene;
    await using other = await otherSession();
    await lock(other, workspace);
    const remembering = ann.remember({ content: "x" });
    const first = await Promise.race([remembering, sleep(100).then(() => "waits")]);
    expect(first).toBe("waits");
    await other.query("commit");
    expect((await remembering).seq).toBe(1);
  });

  it.for([
    { how: "after the busyMs of the hub", settings: {} },
    { how: "after the lock_timeout of the server", settings: { lock_timeout: "50" } },
  ])(
    "makes calls fail with store_busy $how without storing anything; later calls succeed",
    async ({ settings }) => {
      await using scene = await openScene(SHORT, { ...WAITING, ...settings });
      const { ann, workspace } = scene;
      await ann.handoff({ to: "ann", task: "t", intent: "Go" });
      await using other = await otherSession();
      await lock(other, workspace);
      await expectUnchanged(workspace, async () => {
        const expected = { code: "store_busy", path: /^postgres / } as const;
        const acts = [
          () => ann.remember({ content: "x" }),
          () => ann.accept(),
          () => ann.handoff({ to: "ann", task: "u", intent: "Go" }),
        ];
        await Promise.all(acts.map((act) => refused(act, expected)));
      });
      await other.query("commit");
      expect((await acceptSoon(ann)).delivery.task).toBe("t");
    },
  );
});

describe("statements that exceed the statement_timeout of the server", () => {
  const settings = { ...WAITING, statement_timeout: `${STATEMENT_MS}` };

  it.for([
    { what: "a write", name: "write", act: (ann: Agent) => ann.remember({ content: "x" }) },
    { what: "the query before accepting", name: "pick", act: (ann: Agent) => ann.accept() },
    { what: "the write that accepts", name: "write", act: (ann: Agent) => ann.accept() },
  ])(
    "fail $what with store_busy without storing anything; later calls succeed",
    async ({ name, act }) => {
      await using scene = await openScene(SHORT, settings);
      const { ann, workspace } = scene;
      await ann.handoff({ to: "ann", task: "t", intent: "Go" });
      await changing(name, sleepingFirst(ASLEEP_S), async () => {
        await expectUnchanged(workspace, async () => {
          await refused(() => act(ann), { code: "store_busy", path: /^postgres / });
        });
      });
      await patiently(() => ann.remember({ content: "y" }));
      expect((await acceptSoon(ann)).delivery.task).toBe("t");
    },
  );

  it("are retried until one is fast enough [DLV-1]", async () => {
    await using scene = await openScene({}, settings);
    const { hub, ann, name } = scene;
    await ann.handoff({ to: "ann", task: "t", intent: "Go" });
    const trying = await changing("write", sleepingFirst(ASLEEP_S), async () => {
      const accepting = ann.accept();
      await until("its statement sleeps", () => isAsleep(name));
      return { accepting };
    });
    expect((await trying.accepting)?.delivery.attempt).toBe(1);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("a sync to disk that exceeds the statement_timeout of the server", () => {
  it("does not repeat what was committed [DLV-1]", async () => {
    await using scene = await openScene({}, { statement_timeout: "300" });
    const { hub, ann } = scene;
    await changing("sync", sleepingFirst(ASLEEP_S), async () => {
      expect((await ann.remember({ content: "x" })).seq).toBe(1);
      await ann.handoff({ to: "ann", task: "t", intent: "Go" });
      const work = await ann.accept();
      expect((await work?.complete())?.kind).toBe("settled");
    });
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.events.list()).items.map(({ kind }) => kind)).toEqual([
      "sent",
      "accepted",
      "completed",
    ]);
  });
});

describe("a registration on the shared write connection", () => {
  it("is not part of another call's transaction: it is stored when it is acknowledged [DLV-1]", async () => {
    await using scene = await openScene();
    const { hub, ann, name, workspace } = scene;
    await ann.handoff({ to: "ann", task: "t", intent: "Go" });
    await changing("pick", sleepingFirst(0.5), async () => {
      const accepting = ann.accept();
      await until("the query is running, in a transaction", () => isAsleep(name));
      await hub.agent("ben", { role: "worker" });
      const { agents = [] } = await workspaceRows(schema, workspace);
      expect(agents.map(({ id }) => id).sort()).toEqual(["ann", "baton", "ben"]);
      expect((await accepting)?.delivery.attempt).toBe(1);
    });
  });
});

describe.concurrent("the pool of read connections", () => {
  it("serves many reads and two verifications with one connection [OPS-10]", async () => {
    await using scene = await openScene({}, { pool: "1" });
    const { hub, ann } = scene;
    await ann.remember(Array.from({ length: 500 }, (_, n) => ({ content: `record ${n}` })));
    const reads = Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0 ? ann.memories.recent({ limit: 10 }) : hub.agents.list(),
    );
    const [report, , ...answers] = await Promise.all([hub.verify(), hub.verify(), ...reads]);
    expect(report.memories).toBe(500 + 2); // And the audit records of both agents.
    expect(answers).toHaveLength(40);
  });

  it("fails a read with store_busy after it has waited busyMs for a connection", async () => {
    await using scene = await openScene(SHORT, { pool: "1" });
    const { hub, ann, name } = scene;
    await using other = await otherSession();
    await other.query("lock table agents in access exclusive mode");
    const stuck = hub.agents.list();
    await until("the only connection waits", () => isAt(name, "Lock"));
    await refused(() => ann.memories.recent(), {
      code: "store_busy",
      path: /^postgres /,
      hint: /pool=/,
    });
    await other.query("commit");
    expect(await stuck).toHaveLength(1);
    expect(await patiently(() => ann.memories.recent())).toEqual({ items: [] });
  });
});

describe("two stores in one database", () => {
  it("do not reserve each other's deliveries [OPS-10]", async () => {
    await using here = testSchema();
    await using neighbour = testSchema();
    await using hub = await openHub(here.address);
    await using neighbours = await openHub(neighbour.address);
    for (const each of [hub, neighbours]) {
      const agent = await each.agent("ann", { role: "worker" });
      await agent.handoff({ to: "ann", task: "t", intent: "Go" });
    }
    const ann = await hub.agent("ann");
    // Both have the same id in the first workspace, and another session has reserved the
    // neighbour's.
    const [ours] = await here.query(`select id from ${here.schema}.deliveries where state = 1`);
    await neighbour.query(`update ${neighbour.schema}.deliveries set id = $1 where state = 1`, [
      ours?.["id"],
    ]);
    await using reserving = await otherSession(neighbour.schema);
    const { rows } = await reserving.query(
      "select * from pickable(1, 0, row (0, 'ann', '', '', '', 0, 0, 1, null, null)::claim_part, '{}')",
    );
    expect(rows).toHaveLength(1);
    expect((await ann.accept())?.delivery.task).toBe("t");
  });
});

/** Blocks for much longer than the server waits for the rest of a transaction. */
function holdUp(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
}

/** Retries until the server has released what the abandoned connection had reserved. */
function acceptSoon(agent: Agent): Promise<Work> {
  return until("there is something to accept", () => agent.accept().catch(undefinedIfBusy));
}

/** Returns whether a statement of the hub is asleep. */
const isAsleep = (name: string): Promise<boolean> => isAt(name, "Timeout", "PgSleep");

/** Returns whether a statement of the hub waits for an event of this type. */
async function isAt(name: string, type: string, event?: string): Promise<boolean> {
  const found = await schema.query(
    `select 1 from pg_stat_activity where application_name = $1 and state = 'active'
       and wait_event_type = $2 and ($3::text is null or wait_event = $3)`,
    [name, type, event ?? null],
  );
  return found.length > 0;
}

/** Returns the server's process ids of the hub's connections. */
async function connectionsOf(name: string): Promise<number[]> {
  const found = await schema.query("select pid from pg_stat_activity where application_name = $1", [
    name,
  ]);
  return found.map(({ pid }) => pid as number);
}

/** Replaces a function of the store while `meanwhile` runs. */
async function changing<T>(
  name: string,
  change: (definition: string) => string,
  meanwhile: () => Promise<T>,
): Promise<T> {
  const [found] = await schema.query(
    `select pg_get_functiondef(p.oid) as definition from pg_proc p
     where p.proname = $1 and p.pronamespace = $2::regnamespace`,
    [name, schema.schema],
  );
  const definition = found?.["definition"] as string;
  expect(change(definition)).not.toBe(definition);
  await schema.query(change(definition));
  try {
    return await meanwhile();
  } finally {
    await schema.query(definition);
  }
}

const sleepingFirst =
  (seconds: number) =>
  (definition: string): string =>
    definition.replace(/\bbegin\b/i, `begin perform pg_sleep(${seconds});`);
