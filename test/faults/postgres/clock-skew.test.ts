/**
 * Hubs whose clocks differ by hours: leases, retries and stored times go by the database's clock
 * alone, so that nobody loses work early and nobody keeps it for ever.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Agent, type Hub, LocalHub, type SessionOptions } from "../../../src/index.ts";
import { DEFAULT_LIMITS } from "../../../src/limits.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { EventRow } from "../../../src/store/rows.ts";
import { type TestSchema, testSchema } from "../../support/postgres/schema.ts";

const HOUR_MS = 3_600_000;
const LEASE_MS = 300;
const LIMITS = { ...DEFAULT_LIMITS, leaseMs: LEASE_MS };

let schema: TestSchema;

beforeAll(async () => {
  schema = testSchema();
  await (await openPostgresStore({ address: schema.address, limits: LIMITS })).close();
});

afterAll(() => schema[Symbol.asyncDispose]());

describe.concurrent.for([
  { name: "behind", holderMs: -HOUR_MS, otherMs: HOUR_MS },
  { name: "ahead of", holderMs: HOUR_MS, otherMs: -HOUR_MS },
])("a holder whose clock is two hours $name the other's", ({ name, holderMs, otherMs }) => {
  it("keeps its work while it lives, and settles it [DLV-6 OPS-10]", async () => {
    await using scene = await openScene(`lives ${name}`, { lease: "process" });
    const { holder, other, now } = scene;
    const work = await holder.agent.accept();
    const until = (await now()) + 3 * LEASE_MS;
    while ((await now()) < until) {
      expect(await other.agent.accept()).toBeUndefined();
      await sleep(20);
    }
    expect((await work?.complete())?.kind).toBe("settled");
    expect(await kindsOf(holder.hub)).toEqual(["sent", "accepted", "completed"]);
  });

  it("loses it when it falls silent, not before its lease has run out by the database's time [DLV-6 OPS-10]", async () => {
    await using scene = await openScene(`silent ${name}`, { lease: "session" });
    const { holder, other } = scene;
    const lost = await holder.agent.accept();
    expect(await other.agent.accept()).toBeUndefined();
    const work = await other.agent.accept({ wait: true });
    expect(work?.attempt).toBe(2);
    const events = await other.hub.events();
    const at = (kind: EventRow["kind"]) => events.find((event) => event.kind === kind)?.at ?? 0;
    expect(at("expired") - at("accepted")).toBeGreaterThanOrEqual(LEASE_MS);
    await expect(lost?.complete()).rejects.toMatchObject({ code: "lease_lost" });
    await work?.complete();
  });

  it("leaves times of the database's clock on what it writes [DLV-6]", async () => {
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

  it("sees a retry come back when the database's time has come [DLV-6]", async () => {
    await using scene = await openScene(`retry ${name}`, { lease: "session" });
    const { holder, other } = scene;
    const work = await holder.agent.accept();
    const failed = await work?.fail({ message: "no luck", class: "retryable" });
    const again = await other.agent.accept({ wait: true });
    expect(again?.attempt).toBe(2);
    const [event] = (await other.hub.events()).filter(({ attempt }) => attempt === 2);
    const readyAt = failed?.kind === "settled" ? failed.delivery.readyAt : 0;
    expect(readyAt).toBeGreaterThan(0);
    expect(event?.at).toBeGreaterThanOrEqual(readyAt);
    await again?.complete();
  });

  interface Party {
    readonly hub: Hub;
    readonly agent: Agent;
  }

  /** Two hubs on stores without a clock of their own, and a handoff that waits. */
  async function openScene(workspace: string, session: SessionOptions) {
    const party = async (skewMs: number): Promise<Party> => {
      const store = await openPostgresStore({ address: schema.address, limits: LIMITS });
      const clock = { now: () => Date.now() + skewMs };
      const random = () => 0.001; // A retry comes back almost at once.
      const hub = new LocalHub(store, { workspace, clock, limits: LIMITS, random });
      return { hub, agent: await hub.agent("ann", { role: "worker" }, session) };
    };
    const holder = await party(holderMs);
    const other = await party(otherMs);
    const sender = await holder.hub.agent("bob", { role: "worker" });
    await sender.handoff({ to: "ann", task: "t", intent: "Go" });
    const now = async (): Promise<number> => {
      const [row] = await schema.query(
        "select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now",
      );
      return row?.["now"] as number;
    };
    return {
      ...{ holder, other, now },
      async [Symbol.asyncDispose]() {
        await Promise.all([holder.hub.close(), other.hub.close()]);
      },
    };
  }
});

async function kindsOf(hub: Hub): Promise<string[]> {
  return (await hub.events()).map(({ kind }) => kind);
}
