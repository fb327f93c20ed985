/**
 * A PostgreSQL store of an earlier version is brought up to date when it is opened, with all it
 * holds. The old store is made by the steps that were shipped, and filled with rows as they were
 * written then.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { parsePostgresAddress } from "../../src/store/postgres/address.ts";
import { migrate } from "../../src/store/postgres/migrations.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { DeliveryRow } from "../../src/store/rows.ts";
import { isHeld } from "../../src/store/rows.ts";
import { LEASE_MS, Scene } from "../../src/testing/contract/scene.ts";
import { workspaceRows } from "../support/postgres/rows.ts";
import { type TestSchema, testSchema } from "../support/postgres/schema.ts";

const FAR = 2 ** 53 - 1;
/** Tables of version 1 that hold what was written. */
const TABLES = [
  ...["workspaces", "agents", "agent_names", "chains", "memories", "relations", "envelopes"],
  ...["deliveries", "attempts", "events"],
];

describe("a PostgreSQL store of version 1", () => {
  const newest = testSchema();
  const made: TestSchema[] = [];
  let scene: Scene;
  const deliveries: DeliveryRow[] = [];

  const open = (address: string) =>
    openPostgresStore({ address, clock: scene.clock, limits: DEFAULT_LIMITS });

  beforeAll(async () => {
    scene = await Scene.open(async ({ clock }) => ({
      store: await openPostgresStore({ address: newest.address, clock, limits: DEFAULT_LIMITS }),
    }));
    deliveries.push(...(await workOfAllKinds(scene)));
  });

  afterAll(async () => {
    await scene.end();
    for (const schema of [newest, ...made]) await schema[Symbol.asyncDispose]();
  });

  async function storeOfVersionOne(): Promise<TestSchema> {
    const old = testSchema();
    made.push(old);
    await makeVersionOne(old, newest.schema);
    return old;
  }

  it("is what version 1 made: no deadlines, no entries", async () => {
    const old = await storeOfVersionOne();
    const versions = await old.query(`select version from ${old.schema}.baton_migrations`);
    expect(versions).toEqual([{ version: 1 }]);
    const { deliveries: rows = [] } = await workspaceRows(old, scene.workspace);
    expect(rows).toHaveLength(deliveries.length);
    expect(Object.keys(rows[0] ?? {})).not.toContain("deadline");
    const tables = await old.query(`select to_regclass('${old.schema}.entries') as entries`);
    expect(tables).toEqual([{ entries: null }]);
  });

  it("may be opened by several at once, holds the same afterwards, and verifies", async () => {
    const old = await storeOfVersionOne();
    const stores = await Promise.all([1, 2, 3].map(() => open(old.address)));
    for (const store of stores) {
      expect((await store.verify(scene.workspace)).problems).toEqual([]);
    }
    const [upgraded] = stores;
    for (const { id } of deliveries) {
      const was = await scene.store.findDelivery(scene.workspace, id);
      const delivery = was && {
        ...was.delivery,
        holdUntil: isHeld(was.delivery.state) ? FAR : 0,
      };
      const is = await upgraded?.findDelivery(scene.workspace, id);
      expect(is).toEqual(was && { ...was, delivery });
      expect(await upgraded?.readAttempts(scene.workspace, id)).toEqual(
        await scene.store.readAttempts(scene.workspace, id),
      );
    }
    for (const reading of ["countDeliveries", "listAgents"] as const) {
      expect(await upgraded?.[reading](scene.workspace)).toEqual(
        await scene.store[reading](scene.workspace),
      );
    }
    expect(await upgraded?.readEvents(scene.workspace, 0, 1_000)).toEqual(
      await scene.store.readEvents(scene.workspace, 0, 1_000),
    );
    await Promise.all(stores.map((store) => store.close()));
  });

  it("goes on where it was: what is held is renewed for its full time, and ends well", async () => {
    const old = await storeOfVersionOne();
    const store = await open(old.address);
    const held = deliveries.find((row) => row.state === "accepted") as DeliveryRow;
    const { id: delivery, fence, envelope } = held;
    const lease = { delivery, fence, envelope, leaseMs: LEASE_MS };
    const renewed = await store.renewLease(scene.workspace, lease);
    expect(renewed).toMatchObject({
      kind: "renewed",
      delivery: { leaseUntil: scene.now + LEASE_MS },
    });
    const { workspace } = scene;
    const found = await store.findDelivery(workspace, delivery);
    const settlement = scene.settlement(found as NonNullable<typeof found>, { kind: "completed" });
    expect(await store.settleDelivery(settlement)).toMatchObject({ kind: "settled" });
    const entry = { kind: "key", name: "one", value: "{}", basedOn: 0 };
    expect(await store.putEntry(workspace, entry)).toMatchObject({ kind: "put" });
    const sent = await store.sendHandoff(scene.handoff({ task: "after" }));
    expect(sent).toMatchObject({ kind: "sent" });
    expect((await store.verify(workspace)).problems).toEqual([]);
    await store.close();
  });
});

/** Waiting, held, retried, completed, declined, dead and replaced. */
async function workOfAllKinds(scene: Scene): Promise<DeliveryRow[]> {
  const { delivery: replaced } = await scene.send({ task: "again" });
  await scene.send({ task: "again", extend: scene.extending({ delivery: replaced }) });
  const { delivery: behind } = await scene.send({ task: "again", from: "cyd" });
  const ended: DeliveryRow[] = [];
  for (const settlement of [
    { kind: "completed" },
    { kind: "declined" },
    { kind: "failed", becomes: "dead" },
    { kind: "failed", becomes: "scheduled", delayMs: 1_000_000, lapseMs: 0 },
  ] as const) {
    const { delivery } = await scene.send({ task: settlement.kind, to: "cyd" });
    const held = await scene.acceptOne("cyd");
    expect(held.delivery.id).toBe(delivery.id);
    ended.push((await scene.settle(held, settlement)).delivery);
  }
  const accepted = await scene.acceptOne("ben");
  const { delivery: waiting } = await scene.send({ task: "other" });
  const { delivery: claimed } = await scene.claimOne("ben");
  expect(claimed.id).toBe(waiting.id);
  return [replaced, behind, ...ended, accepted.delivery, claimed];
}

/** The tables as they were then, with the columns they had, filled from a newer store. */
async function makeVersionOne(old: TestSchema, newer: string): Promise<void> {
  const address = parsePostgresAddress(old.address);
  const client = new pg.Client(address.url);
  await client.connect();
  try {
    await migrate(client, address, { create: true, to: 1 });
    for (const table of TABLES) {
      const { rows } = await client.query<{ name: string }>(
        `select quote_ident(attname) as name from pg_attribute
         where attrelid = '${old.schema}.${table}'::regclass and attnum > 0 and not attisdropped`,
      );
      const names = rows.map((row) => row.name).join(", ");
      const real = table === "workspaces" ? "key" : "workspace";
      await client.query(
        `insert into ${old.schema}.${table} (${names}) overriding system value
         select ${names} from ${newer}.${table} where ${real} > 0`,
      );
    }
    await client.query(
      `select setval(pg_get_serial_sequence('${old.schema}.workspaces', 'key'), 100)`,
    );
  } finally {
    await client.end();
  }
}
