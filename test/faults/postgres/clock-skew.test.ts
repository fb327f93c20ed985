/**
 * Hubs whose clocks differ by hours: leases, retries and stored times use only the clock of the
 * database, so that no holder loses work early or keeps it forever.
 *
 * Leases are long: no test waits for one to expire, and no pause of the machine makes one expire.
 * Instead a test moves the stored times back, as if the clock of the database had advanced.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { RENEWALS_PER_LEASE } from "../../../src/hub/work-helpers.ts";
import { type Agent, type Hub, LocalHub, type SessionOptions } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { EventRow } from "../../../src/store/rows.ts";
import type { Store } from "../../../src/store/store.ts";
import { type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { present } from "../../support/present.ts";
import { until } from "../../support/until.ts";

const HOUR_MS = 3_600_000;
/** Less than the difference between the clocks. */
const LEASE_MS = 600_000;
/** Remaining time of a lease that is about to expire: longer than any pause of the machine. */
const LITTLE_MS = 120_000;
const LIMITS = { ...DEFAULT_LIMITS, leaseMs: LEASE_MS };
/** How often a holder renews its lease, in real time. */
const BEAT_MS = 50;
const BEATS = 3;

let schema: TestSchema;

beforeAll(async () => {
  schema = testSchema();
  await (await openPostgresStore({ address: schema.address, limits: LIMITS })).close();
});

afterAll(() => schema[Symbol.asyncDispose]());

describe.concurrent.for([
  { name: "behind", holderMs: -HOUR_MS, otherMs: HOUR_MS },
  { name: "ahead of", holderMs: HOUR_MS, otherMs: -HOUR_MS },
])("a holder whose clock is two hours $name the other hub's", ({ name, holderMs, otherMs }) => {
  it("keeps its work while it renews its lease, and settles it [DLV-6 OPS-10]", async () => {
    await using scene = await openScene(`lives ${name}`, { lease: "process" });
    const { holder, other, now, pass, leaseUntil } = scene;
    const work = await holder.agent.accept();
    expect(await other.agent.accept()).toBeUndefined();
    for (let beat = 0; beat < BEATS; beat++) {
      const before = await now();
      await pass(LEASE_MS - LITTLE_MS);
      const renewed = await until("the lease is renewed", async () => {
        const time = await leaseUntil();
        return time >= before + LEASE_MS && time;
      });
      expect(renewed).toBeLessThanOrEqual((await now()) + LEASE_MS);
      expect(await other.agent.accept()).toBeUndefined();
    }
    expect((await work?.complete())?.kind).toBe("settled");
    expect(await kindsOf(holder.hub)).toEqual(["sent", "accepted", "completed"]);
  });

  it("loses its work only after its lease has expired by the database clock [DLV-6 OPS-10]", async () => {
    await using scene = await openScene(`silent ${name}`, { lease: "session" });
    const { holder, other, pass } = scene;
    const lost = await holder.agent.accept();
    expect(await other.agent.accept()).toBeUndefined();
    await pass(LEASE_MS - LITTLE_MS);
    expect(await other.agent.accept()).toBeUndefined();
    const taking = other.agent.accept({ wait: true });
    await pass(LITTLE_MS);
    const work = await taking;
    expect(work?.delivery.attempt).toBe(2);
    const events = (await other.hub.events.list()).items;
    const at = (kind: EventRow["kind"]) => events.find((event) => event.kind === kind)?.at ?? 0;
    expect(at("expired") - at("accepted")).toBeGreaterThanOrEqual(LEASE_MS);
    await expect(lost?.complete()).rejects.toMatchObject({ code: "lease_lost" });
    await work?.complete();
  });

  it("stores times of the database clock [DLV-6]", async () => {
    await using scene = await openScene(`times ${name}`, { lease: "session" });
    const { holder, now } = scene;
    const before = await now();
    const sent = await holder.agent.handoff({ to: "ann", task: "u", intent: "Go" });
    const { storedAt } = await holder.agent.remember({ content: "x" });
    const after = await now();
    const { sentAt } = await sent.status();
    for (const time of [sentAt, storedAt]) {
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(after);
    }
  });

  it("has its failed work retried only when it is due by the database clock [DLV-6]", async () => {
    await using scene = await openScene(`retry ${name}`, { lease: "session" });
    const { holder, other } = scene;
    const work = await holder.agent.accept();
    const failed = await work?.fail({ message: "no luck", class: "retryable" });
    const again = await other.agent.accept({ wait: true });
    expect(again?.delivery.attempt).toBe(2);
    const [event] = (await other.hub.events.list()).items.filter(({ attempt }) => attempt === 2);
    const readyAt = failed?.kind === "settled" ? failed.delivery.readyAt : 0;
    expect(readyAt).toBeGreaterThan(0);
    expect(event?.at).toBeGreaterThanOrEqual(present(readyAt));
    await again?.complete();
  });

  interface Party {
    readonly hub: Hub;
    readonly agent: Agent;
  }

  /** Opens two hubs on stores without a clock of their own, with one handoff ready. */
  async function openScene(workspace: string, session: SessionOptions) {
    const party = async (skewMs: number): Promise<Party> => {
      const store = await openPostgresStore({ address: schema.address, limits: LIMITS });
      const clock = { now: () => Date.now() + skewMs };
      const random = () => 0.001; // A retry becomes due almost at once.
      const limits = { ...LIMITS, leaseMs: BEAT_MS * RENEWALS_PER_LEASE };
      const hub = new LocalHub(withLongLeases(store), { workspace, clock, limits, random });
      return { hub, agent: await hub.agent("ann", { role: "worker" }, session) };
    };
    const holder = await party(holderMs);
    const other = await party(otherMs);
    const sender = await holder.hub.agent("bob", { role: "worker" });
    await sender.handoff({ to: "ann", task: "t", intent: "Go" });
    const number = async (expression: string): Promise<number> => {
      const [row] = await schema.query(`select (${expression})::float8 as number`);
      return row?.["number"] as number;
    };
    const here = `workspace = (select key from ${schema.schema}.workspaces where name = '${workspace}')`;
    return {
      ...{ holder, other },
      /** Returns the time of the database, rounded as in stored rows. */
      now: () => number("(extract(epoch from clock_timestamp()) * 1000)::bigint"),
      leaseUntil: () =>
        number(`select lease_until from ${schema.schema}.deliveries where ${here} and state = 3`),
      /** Advances the clock of the database, by moving stored times back. */
      async pass(ms: number): Promise<void> {
        await schema.query(
          `with held as (update ${schema.schema}.deliveries
             set lease_until = lease_until - ${ms} where ${here} and state = 3)
           update ${schema.schema}.events set at = at - ${ms} where ${here}`,
        );
      },
      async [Symbol.asyncDispose]() {
        await Promise.all([holder.hub.close(), other.hub.close()]);
      },
    };
  }
});

/** Wraps a store so that each lease is long, although the hub renews it often. */
function withLongLeases(store: Store): Store {
  return {
    ...store,
    close: () => store.close(),
    claimDeliveries: (operation) => store.claimDeliveries({ ...operation, leaseMs: LEASE_MS }),
    renewLease: (workspace, lease) => store.renewLease(workspace, { ...lease, leaseMs: LEASE_MS }),
    renewSession: (session) => store.renewSession(session, LEASE_MS),
  };
}

async function kindsOf(hub: Hub): Promise<string[]> {
  return (await hub.events.list()).items.map(({ kind }) => kind);
}
