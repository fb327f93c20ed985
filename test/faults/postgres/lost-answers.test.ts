/**
 * Breaks the connection at the worst moment of each operation: before the write arrives, after it
 * was committed but before the hub gets the answer, and so that the server executes it while the
 * hub already retries. Each operation must take effect once, and its caller must get that result.
 *
 * Every operation runs twice with the same clock and ids: on a connection that works and on one
 * that breaks. The results and every row of the database must be equal.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { LocalHub } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { seededIds, seededRandom } from "../../../src/testing/seeded-ids.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { type Fault, type FaultKind, startProxy } from "../../support/postgres/proxy.ts";
import { workspaceRows } from "../../support/postgres/rows.ts";
import { postgresUrl, type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { until } from "../../support/until.ts";
import {
  codeOf,
  firstOffer,
  LEASE_MS,
  OPERATIONS,
  type Operation,
  type Scene,
  WRITE,
} from "./lost-answers-operations.ts";

/** Ways in which the connection breaks, and what happens until the hub has its answer. */
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
    if (makesRecords) return await act(); // The delayed write keeps it reserved: see below.
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
    // The waiting write has reserved what it is about to claim: the retry finds nothing.
    const standing = makesRecords ? 1 : inLine;
    await until("they stand in line", async () => (await held.waiting()) === standing);
    await held.release();
    return await after(fault.finished, acting);
  },
};

interface Around extends Pick<Required<Operation>, "inLine" | "makesRecords"> {
  cut(kind: FaultKind): Fault;
  /** Blocks all writes to the workspace. */
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

describe.concurrent("an operation whose connection breaks", LONG, () => {
  it.for(OPERATIONS)(
    "takes effect once and returns its result: $name [DLV-1 DLV-6 OPS-10]",
    async (operation, { expect }) => {
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
    },
  );
});

describe("a send whose answer was lost", () => {
  it("still wakes its receiver [DLV-13]", async () => {
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

describe("a delivery reserved by a claim that is being rolled back", () => {
  /**
   * Reproduces the state on the server: the workspace is unlocked, the reservation is not released.
   */
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

  it("can be claimed again, unlike one that another session is about to claim [DLV-6]", async () => {
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

describe("an answer that arrives after the lease expired", LONG, () => {
  /** Drops A's answer and cuts A off until its lease has expired and B has accepted the work. */
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
    const result = await outcome;
    expect(work?.delivery.attempt).toBe(2);
    await work?.complete();
    expect((await b.hub.verify()).problems).toEqual([]);
    expect((await b.hub.deliveries.totals()).byState.completed).toBe(1);
    return result;
  }

  it("does not return an offer, because another holder has the work [DLV-6]", async () => {
    const offer = await overtaken(
      async ({ ben }) =>
        () =>
          firstOffer(ben),
      "late offer",
    );
    expect(offer).toBeUndefined();
  });

  it("does not return work, because another holder has it [DLV-6]", async () => {
    const work = await overtaken(
      async ({ ben }) =>
        () =>
          ben.accept(),
      "late work",
    );
    expect(work).toBeUndefined();
  });

  it("fails the acceptance of an offer with lease_lost [DLV-6]", async () => {
    const accepting = async ({ ben }: Scene) => {
      const offer = await firstOffer(ben);
      return async () => offer?.accept().catch(codeOf);
    };
    expect(await overtaken(accepting, "late acceptance")).toBe("lease_lost");
  });
});

/** Opens a store with a virtual clock, and scenes in it that start alike. */
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
  /** Returns how many sessions wait for the lock. */
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

/** Numbers ids in order of appearance, and masks what is computed from them. */
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
