/** Upgrades a PostgreSQL store with a next schema step that exists only in tests. */
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openHub } from "../../src/index.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { DeliveryRow } from "../../src/store/rows.ts";
import type { SchemaStep } from "../../src/store/schema-steps.ts";
import type { Store } from "../../src/store/store.ts";
import { LEASE_MS } from "../../store-contract/suite/handoff-input.ts";
import { Scene } from "../../store-contract/suite/scene.ts";
import { workspaceRows } from "../support/postgres/rows.ts";
import { type TestSchema, testSchema } from "../support/postgres/schema.ts";
import { refused } from "../support/refusal.ts";
import { FAILING_POSTGRES, NEXT_POSTGRES } from "./next-step.ts";
import { race } from "./next-step-race.ts";

interface Upgrading {
  readonly schema: TestSchema;
  readonly scene: Scene;
  readonly deliveries: readonly DeliveryRow[];
  open(steps: readonly SchemaStep[]): Promise<Store>;
}

/** Creates a store of this version with work of all kinds. */
async function made(): Promise<Upgrading> {
  const schema = testSchema();
  const { address } = schema;
  const scene = await Scene.open(async ({ clock }) => ({
    store: await openPostgresStore({ address, clock, limits: DEFAULT_LIMITS }),
  }));
  onTestFinished(async () => {
    await scene.end();
    await schema[Symbol.asyncDispose]();
  });
  const deliveries = await workOfAllKinds(scene);
  const open = (steps: readonly SchemaStep[]) =>
    openPostgresStore({ address, clock: scene.clock, limits: DEFAULT_LIMITS, steps });
  return { schema, scene, deliveries, open };
}

const versionsIn = async ({ schema, query }: TestSchema): Promise<unknown[]> =>
  (await query(`select version from ${schema}.baton_migrations order by version`)).map(
    ({ version }) => version,
  );

describe("a PostgreSQL store of the previous version", () => {
  it("is upgraded when it is opened, and keeps its data", async () => {
    const { schema, scene, open } = await made();
    const { deliveries: had = [], ...before } = await workspaceRows(schema, scene.workspace);
    const store = await open(NEXT_POSTGRES);
    expect((await store.verify(scene.workspace)).problems).toEqual([]);
    await store.close();
    expect(await versionsIn(schema)).toEqual([1, 2]);
    const { deliveries = [], ...rest } = await workspaceRows(schema, scene.workspace);
    expect(rest).toEqual(before);
    expect(deliveries.map(({ label: _, ...row }) => row)).toEqual(had);
    const labelled = deliveries.filter(({ label }) => label !== "");
    expect(labelled.map(({ label }) => label)).toEqual(labelled.map(({ task }) => task));
    const labels = await schema.query(`select name from ${schema.schema}.labels`);
    expect(labels).toEqual([{ name: "again" }]);
  });

  it("handles leases, settlements, entries and handoffs after the upgrade", async () => {
    const { scene, deliveries, open } = await made();
    const { workspace } = scene;
    const store = await open(NEXT_POSTGRES);
    const held = deliveries.find((row) => row.state === "accepted") as DeliveryRow;
    const { id: delivery, fence, envelope } = held;
    const lease = { delivery, fence, envelope, leaseMs: LEASE_MS };
    expect(await store.renewLease(workspace, lease)).toMatchObject({
      kind: "renewed",
      delivery: { leaseUntil: scene.now + LEASE_MS },
    });
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

  it("applies each step once when several processes open it at the same moment", async () => {
    const { schema } = await made();
    await race(schema.address, 4);
    expect(await versionsIn(schema)).toEqual([1, 2]);
  });

  it("applies all steps when several processes create it at the same moment", async () => {
    await using schema = testSchema();
    await race(schema.address, 4);
    expect(await versionsIn(schema)).toEqual([1, 2]);
  });

  it("stays unchanged when a step fails", async () => {
    const { schema, scene, open } = await made();
    const before = await workspaceRows(schema, scene.workspace);
    await expect(open(FAILING_POSTGRES)).rejects.toThrow("no_such_table");
    expect(await versionsIn(schema)).toEqual([1]);
    expect(await workspaceRows(schema, scene.workspace)).toEqual(before);
    expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
  });

  it("is refused by the previous version after the upgrade", async () => {
    const { schema, open } = await made();
    await (await open(NEXT_POSTGRES)).close();
    const error = await refused(() => openHub(schema.address), { code: "store_too_new" });
    expect(error.details).toEqual({ found: 2, known: 1 });
    expect(await versionsIn(schema)).toEqual([1, 2]);
  });
});

/** Creates deliveries that are waiting, held, retried, completed, declined, dead and superseded. */
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
