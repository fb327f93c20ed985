/**
 * The network breaks at the worst moment of each operation: before the write arrives, after it was
 * committed and before the hub hears of it, and so that the server carries it out while the hub
 * already asks again. Each operation must have taken effect once, and its caller must be told so.
 *
 * Every operation runs twice with the same clock and ids: on a connection that holds and on one
 * that breaks. What the callers are told and every row of the database have to be the same.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../../src/base/canonical.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import {
  type Agent,
  type Hub,
  isBatonError,
  LocalHub,
  type Sent,
  type Work,
} from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { Move, Store } from "../../../src/store/store.ts";
import { seededIds, seededRandom } from "../../../src/testing/seeded-ids.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { type Fault, type FaultKind, startProxy } from "../../support/postgres/proxy.ts";
import { workspaceRows } from "../../support/postgres/rows.ts";
import { postgresUrl, type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { until } from "../../support/until.ts";

const WRITE = "baton_write\0";
/** Committed by then, and not acknowledged. */
const SYNC = "baton_sync\0";
const LEASE_MS = DEFAULT_LIMITS.leaseMs;

interface Scene {
  readonly hub: Hub;
  readonly store: Store;
  readonly workspace: string;
  readonly clock: VirtualClock;
  readonly ann: Agent;
  readonly ben: Agent;
  send(task: string, more?: object): Promise<Sent>;
}

interface Operation {
  readonly name: string;
  /** Brings about the state it starts from, and returns the operation itself. */
  readonly prepare: (scene: Scene) => Promise<() => Promise<unknown>>;
  /** The message to break at, and which of them. */
  readonly at?: readonly [text: string, nth: number];
  /** Makes records of its own, anew each time it is tried: they have other ids then. */
  readonly makesRecords?: boolean;
  /** How many stand in line when the hub asks again while nobody can write; 0: it does not get there. */
  readonly inLine?: number;
}

const OPERATIONS: readonly Operation[] = [
  {
    name: "append",
    prepare: async ({ ann }) => {
      const { id } = await ann.remember({ content: "before" });
      return () => ann.remember({ content: "after", refs: [id] });
    },
  },
  {
    name: "append, cut before it is on the disk",
    at: [SYNC, 1],
    prepare:
      async ({ ann }) =>
      () =>
        ann.remember({ content: "x" }),
  },
  {
    name: "append of many",
    prepare: async ({ ann }) => {
      const inputs = Array.from({ length: 20 }, (_, n) => ({ content: `step ${n}` }));
      return () => ann.remember(inputs);
    },
  },
  {
    name: "appends of one group",
    prepare:
      async ({ ann, ben }) =>
      () =>
        Promise.all([
          ann.remember({ content: "one" }),
          ben.remember({ content: "two" }),
          ann.remember({ content: "three" }),
        ]),
  },
  {
    name: "note under a lease",
    prepare: async (scene) => {
      const work = await taken(scene);
      return () => work.note("half way");
    },
  },
  {
    name: "send",
    prepare:
      async ({ send }) =>
      () =>
        told(send("first")),
  },
  {
    name: "send behind another of the task",
    prepare: async ({ hub, send }) => {
      await send("first");
      const cyd = await hub.agent("cyd", { role: "worker" });
      return () => told(cyd.handoff({ to: "ben", task: "first", intent: "Go on" }));
    },
  },
  {
    name: "send that takes a waiting one's place",
    prepare: async ({ send }) => {
      await send("first");
      return () => told(send("first", { next: ["More"] }));
    },
  },
  {
    name: "send that adds to held work",
    prepare: async (scene) => {
      await taken(scene);
      return () => told(scene.send("first", { next: ["More"] }));
    },
  },
  {
    name: "claim",
    prepare: async (scene) => {
      await scene.send("first");
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "claim, cut before it is on the disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "claim of what a silent holder had",
    prepare: async (scene) => {
      await taken(scene);
      scene.clock.advance(LEASE_MS);
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "accept",
    prepare: async (scene) => {
      await scene.send("first");
      const offer = await firstOffer(scene.ben);
      return () => working(offer?.accept());
    },
  },
  {
    makesRecords: true,
    name: "claim and accept",
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut before the commit",
    at: ["commit\0", 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut before it is on the disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut at the look",
    at: ["baton_pick\0", 1],
    inLine: 1,
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept by several at once",
    prepare: async (scene) => {
      for (const task of ["first", "second", "third"]) await scene.send(task);
      return () => Promise.all([1, 2, 3].map(() => working(acceptSoon(scene.ben))));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept of what a silent holder had, cut where it is taken back",
    prepare: async (scene) => {
      await taken(scene);
      scene.clock.advance(LEASE_MS);
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept of what a silent holder had, cut at the write",
    at: [WRITE, 2],
    inLine: 0,
    prepare: async (scene) => {
      await taken(scene);
      scene.clock.advance(LEASE_MS);
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    name: "renew",
    prepare: async (scene) => {
      const work = await taken(scene);
      scene.clock.advance(LEASE_MS / 2);
      return () => work.renew();
    },
  },
  {
    name: "renew of a session",
    prepare: async ({ hub, send, clock }) => {
      await send("first");
      const ben = await hub.agent("ben", undefined, { lease: "session" });
      await ben.accept();
      clock.advance(LEASE_MS / 2);
      return () => ben.memories.pins();
    },
  },
  {
    name: "complete",
    prepare: async (scene) => {
      const work = await taken(scene);
      await scene.hub.agent("cyd", { role: "worker" });
      return () => work.complete({ summary: "done", outputs: { answer: 42 } });
    },
  },
  {
    name: "complete, with the next one waiting for its turn",
    prepare: async (scene) => {
      const work = await taken(scene);
      const cyd = await scene.hub.agent("cyd", { role: "worker" });
      await cyd.handoff({ to: "ben", task: "first", intent: "Go on" });
      return () => work.complete();
    },
  },
  {
    name: "complete, cut before it is on the disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      const work = await taken(scene);
      return () => work.complete();
    },
  },
  {
    name: "fail, to be tried again",
    prepare: async (scene) => {
      const work = await taken(scene);
      return () => work.fail({ message: "no luck", class: "retryable" });
    },
  },
  {
    name: "decline",
    prepare: async (scene) => {
      const work = await taken(scene);
      return () => work.decline("not mine");
    },
  },
  {
    name: "release",
    prepare: async (scene) => {
      const work = await taken(scene);
      return () => work.release();
    },
  },
  {
    name: "settlement that comes too late",
    prepare: async (scene) => {
      const work = await taken(scene);
      scene.clock.advance(LEASE_MS);
      return () => work.complete().catch(codeOf);
    },
  },
  {
    name: "hand on",
    prepare: async (scene) => {
      const work = await taken(scene);
      await scene.hub.agent("cyd", { role: "worker" });
      return () => told(work.handoff({ to: "cyd", action: "needs_review" }) as Promise<Sent>);
    },
  },
  {
    name: "publication",
    prepare: async ({ store, workspace, hub, send }) => {
      const { id } = await send("first");
      const found = await store.findDelivery(workspace, id);
      const [memory] = await store.readMemories(workspace, [found?.envelope.memory ?? ""]);
      const record = { ...(memory as NonNullable<typeof memory>), id: "mem-published" };
      await hub.agent("cyd", { role: "worker" });
      const delivery = {
        maxAttempts: 3,
        ahead: 0,
        delayMs: 0,
        reason: "",
        deadline: 0,
        lapseMs: 0,
      };
      return () =>
        store.sendHandoff({
          ...{ workspace, branch: record.branch, parent: "", breaker: 0 },
          memory: {
            ...{ ...record, agent: "ann", digest: sha256(record.text), publicKey: "" },
            ...{ mentions: [], relations: [] },
          },
          envelope: { id: "env-published", task: "news", sender: "ann", text: "{}", parents: [] },
          deliveries: [
            { ...delivery, id: "dlv-1", receiver: "ben", state: "ready" },
            { ...delivery, id: "dlv-2", receiver: "cyd", state: "dead", reason: "{}" },
            { ...delivery, id: "dlv-3", receiver: "role:worker", state: "scheduled" },
          ],
          entries: [{ kind: "key", name: "published", value: "{}", basedOn: 0 }],
        });
    },
  },
  {
    name: "entry",
    prepare: async ({ store, workspace, clock }) => {
      const entry = { kind: "breaker", name: "ben", value: '{"n":1}' };
      await store.putEntry(workspace, { ...entry, basedOn: 0 });
      clock.advance(5);
      const event = { kind: "breaker_opened", agent: "ann" } as const;
      return () => store.putEntry(workspace, { ...entry, basedOn: 1 }, event);
    },
  },
  {
    name: "entry that is taken away",
    prepare: async ({ store, workspace }) => {
      const entry = { kind: "route", name: "ben" };
      await store.putEntry(workspace, { ...entry, value: "{}", basedOn: 0 });
      return async () => [
        await store.putEntry(workspace, { ...entry, value: undefined, basedOn: 1 }),
        await store.findEntry(workspace, entry.kind, entry.name),
      ];
    },
  },
  {
    name: "move of what is held, and of what is behind it",
    prepare: async (scene) => {
      const { store, workspace } = scene;
      const work = await taken(scene);
      const cyd = await scene.hub.agent("cyd", { role: "worker" });
      const behind = await cyd.handoff({ to: "ben", task: "first", intent: "Go on" });
      const moves: Move[] = [];
      for (const [id, change] of [
        [work.id, { to: "dead", event: "dead", ends: { outcome: "expired", reason: "" } }],
        [behind.id, { to: "ready", event: "lapsed", lapseMs: 7 }],
      ] as const) {
        const found = await store.findDelivery(workspace, id);
        const seen = (found as NonNullable<typeof found>).delivery;
        moves.push({ delivery: id, seen, ...change });
      }
      return () => store.moveDeliveries({ workspace, branch: "main", agent: "ann", moves });
    },
  },
  {
    name: "registration",
    at: ["baton_register\0", 1],
    prepare:
      async ({ hub }) =>
      () =>
        hub.agent("cyd", { role: "worker", aliases: ["c"] }).then(({ info }) => info),
  },
  {
    name: "change of a registration",
    at: ["baton_register\0", 1],
    prepare:
      async ({ hub }) =>
      () =>
        hub.agent("ben", { role: "reviewer" }).then(({ info }) => info),
  },
];

/** How the network breaks, and what happens until the hub has its answer. */
const BREAKS: Readonly<
  Record<string, (act: () => Promise<unknown>, around: Around) => Promise<unknown>>
> = {
  "the write never arrives": async (act, { cut }) => {
    cut("unsent");
    return await act();
  },
  "the answer is lost": async (act, { cut }) => {
    cut("unheard");
    return await act();
  },
  "the write arrives while the hub asks again": async (act, { cut }) => {
    const fault = cut("late");
    const acting = act();
    await fault.happened;
    await fault.arrive();
    return await after(fault.finished, acting);
  },
  "the write arrives when the hub has its answer": async (act, { cut, makesRecords }) => {
    if (makesRecords) return await act(); // What is on its way keeps the delivery reserved: below.
    const fault = cut("late");
    const outcome = await act();
    await fault.arrive();
    await fault.finished;
    return outcome;
  },
  "the write stands in line while the hub asks again": async (act, around) => {
    const { cut, lock, inLine, makesRecords } = around;
    if (inLine === 0) return await act();
    const fault = cut("hung up");
    await using held = await lock();
    const acting = act();
    await fault.happened;
    // What stands in line has reserved what it is about to take: the hub finds nothing meanwhile.
    const standing = makesRecords ? 1 : inLine;
    await until("they stand in line", async () => (await held.waiting()) === standing);
    await held.release();
    return await after(fault.finished, acting);
  },
};

interface Around extends Pick<Required<Operation>, "inLine" | "makesRecords"> {
  cut(kind: FaultKind): Fault;
  /** From now on nobody can write to the workspace. */
  lock(): Promise<HeldLock>;
}

let steady: TestSchema;
let shaky: TestSchema;

beforeAll(() => {
  steady = testSchema();
  shaky = testSchema();
});

afterAll(async () => {
  await Promise.all([steady[Symbol.asyncDispose](), shaky[Symbol.asyncDispose]()]);
});

const LONG = { timeout: 120_000 };

describe.concurrent(
  "an operation whose connection breaks takes effect once, and its caller gets that result",
  LONG,
  () => {
    it.for(OPERATIONS)("$name [DLV-1 DLV-6 OPS-10]", async (operation, { expect }) => {
      const { name, prepare, at = [WRITE, 1], inLine = 2, makesRecords = false } = operation;
      await using proxy = await startProxy(postgresUrl());
      await using reliable = await openStage(steady.address);
      await using broken = await openStage(proxy.through(shaky.address));
      for (const [how, breaking] of Object.entries(BREAKS)) {
        const workspace = `${name} - ${how}`.replaceAll(/[^a-z -]/g, "");
        const act = await prepare(await reliable.scene(workspace));
        const expected = await act();
        const brokenAct = await prepare(await broken.scene(workspace));
        const actual = await breaking(brokenAct, {
          inLine,
          makesRecords,
          cut: (kind) => proxy.breakAt(at[0], kind, at[1]),
          lock: () => holdLock(`${shaky.schema} ${workspace}`),
        });
        const seen = makesRecords ? withoutIdentity : <T>(value: T) => value;
        expect(seen(actual), how).toEqual(seen(expected));
        const rows = await workspaceRows(shaky, workspace);
        expect(seen(rows), how).toEqual(seen(await workspaceRows(steady, workspace)));
      }
    });
  },
);

describe("a send whose answer was lost", () => {
  it("wakes its receiver all the same [DLV-13]", async () => {
    await using proxy = await startProxy(postgresUrl());
    await using shakyStage = await openStage(proxy.through(shaky.address));
    const { send } = await shakyStage.scene("woken all the same");
    const store = await openPostgresStore({ address: shaky.address, limits: DEFAULT_LIMITS });
    onTestFinished(() => store.close());
    let woken = 0;
    store.onWake({ workspace: "woken all the same", agent: "ben" }, () => woken++);
    const listening = () =>
      shaky.query("select 1 from pg_stat_activity where query = $1", [
        `listen baton_${shaky.schema}`,
      ]);
    await until("it listens", async () => (await listening()).length === 1);
    proxy.breakAt(WRITE, "unheard");
    await send("first");
    await until("it is woken", () => woken === 1);
  });
});

describe("what a claim had reserved that is being undone", () => {
  /** As the server does it: the workspace is free again, and the reservation not yet. */
  async function reserving(workspace: string, lease: number | null): Promise<AsyncDisposable> {
    const client = new pg.Client(postgresUrl());
    await client.connect();
    await client.query(`set search_path = ${shaky.schema}`);
    await client.query("begin");
    const { rows } = await client.query(
      `select * from pickable((select key from workspaces where name = $1), 0,
        row (0, 'ben', '', '', '', $2, $2, 1, null, null)::claim_part, '{}')`,
      [workspace, lease],
    );
    expect(rows).toHaveLength(1);
    return {
      async [Symbol.asyncDispose]() {
        await client.query("rollback");
        await client.end();
      },
    };
  }

  it("is found by the next one all the same, unlike what somebody is about to take [DLV-6]", async () => {
    await using stage = await openStage(shaky.address);
    const { workspace, ben, send } = await stage.scene("being undone");
    await send("first");
    {
      await using _looking = await reserving(workspace, null);
      expect(await firstOffer(ben)).toBeUndefined();
    }
    await using _undone = await reserving(workspace, LEASE_MS);
    expect((await firstOffer(ben))?.envelope.task).toBe("first");
  });
});

describe("an answer that is read after the lease ran out", LONG, () => {
  /** A's answer is lost, and A cut off; its lease runs out; B has the work when A is back. */
  async function overtaken<T>(act: (scene: Scene) => Promise<() => Promise<T>>, workspace: string) {
    await using proxy = await startProxy(postgresUrl());
    await using cutOff = await openStage(proxy.through(shaky.address));
    await using other = await openStage(shaky.address);
    const a = await cutOff.scene(workspace);
    await a.send("first");
    const acting = await act(a);
    const fault = proxy.breakAt(WRITE, "unheard");
    const outcome = acting();
    await fault.finished;
    proxy.open = false;
    proxy.dropAll();
    const b = await other.scene(workspace);
    b.clock.advance(LEASE_MS);
    const work = await b.ben.accept();
    proxy.open = true;
    const told = await outcome;
    expect(work?.delivery.attempt).toBe(2);
    await work?.complete();
    expect((await b.hub.verify()).problems).toEqual([]);
    expect((await b.hub.deliveries.totals()).byState.completed).toBe(1);
    return told;
  }

  it("gives no offer: the work is somebody else's [DLV-6]", async () => {
    const offer = await overtaken(
      async ({ ben }) =>
        () =>
          firstOffer(ben),
      "late offer",
    );
    expect(offer).toBeUndefined();
  });

  it("gives no work: it is somebody else's [DLV-6]", async () => {
    const work = await overtaken(
      async ({ ben }) =>
        () =>
          ben.accept(),
      "late work",
    );
    expect(work).toBeUndefined();
  });

  it("accepts no offer: the lease is lost [DLV-6]", async () => {
    const accepting = async ({ ben }: Scene) => {
      const offer = await firstOffer(ben);
      return async () => offer?.accept().catch(codeOf);
    };
    expect(await overtaken(accepting, "late acceptance")).toBe("lease_lost");
  });
});

/** A store with a clock that stands still, and scenes in it that begin alike. */
async function openStage(address: string) {
  const clock = new VirtualClock();
  const start = clock.now();
  const store = await openPostgresStore({ address, clock, limits: DEFAULT_LIMITS });
  return {
    async scene(workspace: string): Promise<Scene> {
      clock.set(start);
      const hub = new LocalHub(store, {
        workspace,
        clock,
        ids: seededIds(1, clock),
        random: seededRandom(1),
        processes: { self: "", isGone: () => false },
      });
      const ann = await hub.agent("ann", { role: "planner" });
      const ben = await hub.agent("ben", { role: "coder" });
      const send = (task: string, more = {}) =>
        ann.handoff({ to: "ben", task, intent: "Carry it over", ...more });
      return { hub, store, workspace, clock, ann, ben, send };
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

interface HeldLock extends AsyncDisposable {
  /** How many stand in line for it. */
  waiting(): Promise<number>;
  release(): Promise<void>;
}

async function holdLock(key: string): Promise<HeldLock> {
  const client = new pg.Client(postgresUrl());
  await client.connect();
  await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [key]);
  return {
    async waiting() {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int from pg_locks, hashtextextended($1, 0) as h
         where locktype = 'advisory' and objsubid = 1 and not granted
           and classid::bigint = (h >> 32) & 4294967295 and objid::bigint = h & 4294967295`,
        [key],
      );
      return rows[0]?.count ?? 0;
    },
    async release() {
      await client.query("select pg_advisory_unlock_all()");
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function after(first: Promise<void>, then: Promise<unknown> | undefined): Promise<unknown> {
  await first;
  return await then;
}

async function taken(scene: Scene): Promise<Work> {
  await scene.send("first");
  const work = await scene.ben.accept();
  if (work === undefined) throw new Error("nothing to accept");
  return work;
}

/** What a connection that broke had reserved is free again when the server has noticed. */
async function acceptSoon(agent: Agent): Promise<Work> {
  for (;;) {
    const work = await agent.accept();
    if (work !== undefined) return work;
    await sleep(5);
  }
}

async function firstOffer(agent: Agent) {
  for await (const offer of agent.inbox({ wait: false })) return offer;
  return undefined;
}

/** What a sender is told. */
async function told(sending: Promise<Sent>): Promise<object> {
  const sent = await sending;
  const { id, envelope, digest, memory } = sent;
  return { id, envelope, digest, memory, status: await sent.status() };
}

/** What a holder is told. */
async function working(accepting: Promise<Work | undefined> | undefined): Promise<object> {
  const work = await accepting;
  if (work === undefined) return { nothing: true };
  const { id, handle, envelope } = work;
  const { attempt, acceptedBy } = work.delivery;
  return { id, handle, envelope, attempt, acceptedBy };
}

/** Ids numbered as they appear, and nothing that is computed from them. */
function withoutIdentity(value: unknown): unknown {
  const numbers = new Map<string, number>();
  const numbered = (id: string): string => {
    numbers.set(id, numbers.get(id) ?? numbers.size);
    return `${id.slice(0, 3)} ${numbers.get(id)}`;
  };
  const text = JSON.stringify(value)
    .replaceAll(/[a-z]{3}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, numbered)
    .replaceAll(/\b([0-9a-f]{64}|[0-9a-f]{32})\b/g, "hash");
  return JSON.parse(text);
}

function codeOf(error: unknown): string {
  return isBatonError(error) ? error.code : String(error);
}
