/**
 * Tests of `listDue()`: deliveries past their decision time (`lapseAt`) or lease, or held by a
 * process that has ended.
 */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, ListDue } from "../../../src/store/store.ts";
import { DUE_TIMES } from "../../../src/store/wake/due-announcer.ts";
import { expectSingle } from "../expectations.ts";
import { failedWithDelay, HOLD_MS, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";
/** More deliveries than a store may read at a time. */
const MANY = 150;

/** Ways to end work before its deadline. */
const ENDINGS: readonly [string, (scene: Scene) => Promise<unknown>][] = [
  ["completed", async (scene) => scene.settle(await scene.acceptOne("ben"), { kind: "completed" })],
  ["declined", async (scene) => scene.settle(await scene.acceptOne("ben"), { kind: "declined" })],
  [
    "dead",
    async (scene) =>
      scene.settle(await scene.acceptOne("ben"), { kind: "failed", becomes: "dead" }),
  ],
  [
    "superseded",
    async (scene) => {
      const { store, workspace } = scene;
      const which = { workspace, receivers: ["ben"], states: ["ready"] as const, limit: 1 };
      return scene.send({
        extend: scene.extending(expectSingle(await store.listDeliveries(which))),
      });
    },
  ],
];

/** Deliveries in each open state, with a decision time 500 ms from now. */
const OPEN: readonly [string, (scene: Scene) => Promise<unknown>][] = [
  ["ready", (scene) => scene.send({ lapseMs: 500 })],
  ["scheduled", (scene) => scene.send({ state: "scheduled", delayMs: 9_000, lapseMs: 500 })],
  [
    "claimed",
    async (scene) => {
      await scene.send({ lapseMs: 500 });
      await scene.claimOne("ben");
    },
  ],
  [
    "accepted",
    async (scene) => {
      await scene.send({ deadline: scene.now + 500 });
      await scene.acceptOne("ben");
    },
  ],
  [
    "waiting",
    async (scene) => {
      await scene.send({ deadline: scene.now + 500 });
      await scene.settle(await scene.acceptOne("ben"), { kind: "asked" });
    },
  ],
];

/** Each way to fall due in 500 ms: with a time to decide, a lease, or a retry. */
const FALLING_DUE: readonly [string, (scene: Scene) => Promise<unknown>][] = [
  ...OPEN,
  [
    "leased",
    async (scene) => {
      await scene.send();
      await scene.claimOne("ben", { leaseMs: 500 });
    },
  ],
  ["retried", async (scene) => scene.settle(await scene.underWay(), failedWithDelay(500))],
];

export function due(it: SceneTest): void {
  nextDue(it);
  describe("listing due deliveries", () => {
    it("returns nothing before a lease or decision time has passed [DLV-6]", async ({ scene }) => {
      expect(await scene.due({ gone: ["p1"] })).toEqual({
        now: scene.now,
        due: [],
        retries: 0,
      });
      await scene.send({ task: "ready" });
      await scene.underWay({ task: "held" });
      await scene.settle(await scene.underWay({ task: "failed" }), failedWithDelay(500));
      expect((await scene.due({ gone: ["p1"] })).due).toEqual([]);
    });

    it.for(OPEN)(
      "returns a %s delivery from the exact millisecond of its decision time [DLV-2]",
      async ([state, make], { scene }) => {
        await make(scene);
        scene.clock.advance(499);
        expect((await scene.due()).due).toEqual([]);
        scene.clock.advance(1);
        const due = await scene.due();
        expect(due.now).toBe(scene.now);
        const { delivery, envelope } = expectSingle(due.due);
        expect(delivery).toMatchObject({ state, lapseAt: scene.now });
        expect(envelope.id).toBe(delivery.envelope);
        expect(await scene.store.findDelivery(scene.workspace, delivery.id)).toEqual(
          expectSingle(due.due),
        );
      },
    );

    it("uses the earlier of the deadline and the decision time [DLV-2]", async ({ scene }) => {
      const deadline = scene.now + 300;
      const early = await scene.send({ task: "early", deadline, lapseMs: 200 });
      const late = await scene.send({ task: "late", deadline, lapseMs: 400 });
      expect([early.delivery.lapseAt, late.delivery.lapseAt]).toEqual([deadline - 100, deadline]);
      expect([early.delivery.deadline, late.delivery.deadline]).toEqual([deadline, deadline]);
    });

    it.for(ENDINGS)(
      "does not return work that was %s before its deadline [DLV-2]",
      async ([_case, end], { scene }) => {
        await scene.send({ deadline: scene.now + 500 });
        await end(scene);
        scene.clock.advance(500);
        expect((await scene.due()).due).toEqual([]);
      },
    );

    it("counts retries that are due, up to the limit, and makes them ready [DLV-19]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const retried: string[] = [];
      for (const task of ["one", "two", "three"]) {
        const held = await scene.underWay({ task });
        retried.push((await scene.settle(held, failedWithDelay(500))).delivery.id);
      }
      const states = () =>
        Promise.all(retried.map(async (id) => (await scene.deliveryNow(id)).state));
      scene.clock.advance(499);
      expect(await scene.due()).toMatchObject({ due: [], retries: 0 });
      await store.makeRetriesReady(workspace);
      expect(await states()).toEqual(["scheduled", "scheduled", "scheduled"]);
      scene.clock.advance(1);
      expect(await scene.due()).toMatchObject({ due: [], retries: 3 });
      expect(await scene.due({ limit: 2 })).toMatchObject({ due: [], retries: 2 });
      await store.makeRetriesReady(workspace);
      expect(await states()).toEqual(["ready", "ready", "ready"]);
      expect(await scene.due()).toMatchObject({ due: [], retries: 0 });
      await store.makeRetriesReady("unknown");
    });

    it("drops the decision time of accepted work, but not its deadline [DLV-2]", async ({
      scene,
    }) => {
      const deadline = scene.now + 9_000;
      await scene.send({ deadline, lapseMs: 500 });
      expect((await scene.acceptOne("ben")).delivery.lapseAt).toBe(deadline);
      await scene.send({ task: "other", lapseMs: 500 });
      const { delivery } = await scene.claimOne("ben");
      const lease = { delivery: delivery.id, fence: 1, envelope: delivery.envelope };
      const { workspace, branch } = scene;
      const claimed = (await scene.store.findDelivery(
        workspace,
        delivery.id,
      )) as DeliveryWithEnvelopeRow;
      await scene.store.acceptDelivery({
        workspace,
        branch,
        lease: { ...lease, leaseMs: LEASE_MS },
        memory: scene.continuing(claimed),
      });
      expect((await scene.deliveryNow(delivery.id)).lapseAt).toBe(0);
      scene.clock.advance(500);
      expect((await scene.due()).due).toEqual([]);
    });

    it("orders by decision time, then lease, then place for ended processes, each delivery once [DLV-6]", async ({
      scene,
    }) => {
      await scene.send({ task: "gone 1" });
      await scene.send({ task: "silent 2" });
      await scene.send({ task: "silent 1" });
      await scene.send({ task: "lapsed 2", lapseMs: 200 });
      await scene.send({ task: "lapsed 1", lapseMs: 100 });
      await scene.send({ task: "all of it", lapseMs: 300 });
      await scene.send({ task: "gone 2" });
      await scene.send({ task: "fine", lapseMs: LEASE_MS });
      const claim = (task: string, leaseMs: number, process = "") =>
        scene.claimOne("ben", { task, leaseMs, process });
      await claim("gone 2", LEASE_MS, "p2");
      await claim("gone 1", LEASE_MS, "p1");
      await claim("silent 2", 500);
      await claim("silent 1", 400);
      await claim("all of it", 1, "p1");
      scene.clock.advance(1_000);
      const order = ["lapsed 1", "lapsed 2", "all of it", "silent 1", "silent 2"];
      expect(await dueTasks(scene)).toEqual(order);
      const gone = ["p2", "p1"];
      expect(await dueTasks(scene, { gone })).toEqual([...order, "gone 1", "gone 2"]);
      for (const limit of [1, 3, 4, 6, 7]) {
        const first = [...order, "gone 1", "gone 2"].slice(0, limit);
        expect(await dueTasks(scene, { gone, limit })).toEqual(first);
      }
    });

    it("orders deliveries that are due at the same time by place [DLV-13]", async ({ scene }) => {
      for (const task of ["one", "two", "three"]) await scene.send({ task, lapseMs: 500 });
      for (const task of ["four", "five"]) await scene.send({ task });
      for (const task of ["five", "four"]) await scene.claimOne("ben", { task, leaseMs: 500 });
      scene.clock.advance(500);
      expect(await dueTasks(scene)).toEqual(["one", "two", "three", "four", "five"]);
    });

    it("does not change the deliveries it returns [DLV-6]", async ({ scene }) => {
      await scene.send({ lapseMs: 500 });
      await scene.claimOne("ben", { process: "p1" });
      scene.clock.advance(LEASE_MS);
      const due = await scene.unchanged(() => scene.due({ gone: ["p1"] }));
      expect(due.due).toHaveLength(1);
    });

    it("returns only deliveries of the workspace [DLV-6]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      const there = await scene.send({ where: { workspace: ELSEWHERE }, lapseMs: 500 });
      scene.clock.advance(500);
      expect((await scene.due()).due).toEqual([]);
      const { due } = await scene.due({ workspace: ELSEWHERE });
      expect(expectSingle(due).delivery).toEqual(there.delivery);
    });

    it("returns more deliveries than a store reads at a time, after reopening [DLV-6]", async ({
      scene,
    }) => {
      for (let i = 0; i < MANY; i++) await scene.send({ task: `task ${i}`, lapseMs: 1 + i });
      await scene.reopen();
      scene.clock.advance(MANY);
      expect(await dueTasks(scene)).toEqual(Array.from({ length: MANY }, (_, i) => `task ${i}`));
    });

    it("uses the decision time of the last settlement, at most the deadline [DLV-2]", async ({
      scene,
    }) => {
      const deadline = scene.now + 9_000;
      await scene.send({ deadline });
      const released = { ...RELEASED, lapseMs: 700 };
      await scene.settle(await scene.claimOne("ben"), released);
      scene.clock.advance(699);
      expect((await scene.due()).due).toEqual([]);
      scene.clock.advance(1);
      expect((await scene.due()).due).toHaveLength(1);
      const failed = { ...failedWithDelay(5), lapseMs: HOLD_MS };
      const { delivery } = await scene.settle(await scene.acceptOne("ben"), failed);
      expect(delivery.lapseAt).toBe(deadline);
    });
  });
}

function nextDue(it: SceneTest): void {
  describe("the next due time", () => {
    it.for(FALLING_DUE)(
      "is that of what is %s, in its workspace only [DLV-19]",
      async ([_case, make], { scene }) => {
        const { store, workspace } = scene;
        expect(await store.nextDue()).toEqual([]);
        expect(await store.nextDue([workspace, ELSEWHERE])).toEqual([]);
        await make(scene);
        for (const dueMs of [500, 400, 0]) {
          const expected = [{ workspace, dueMs }];
          expect(await scene.unchanged(() => store.nextDue())).toEqual(expected);
          expect(await store.nextDue([ELSEWHERE, workspace])).toEqual(expected);
          expect(await store.nextDue([ELSEWHERE])).toEqual([]);
          scene.clock.advance(dueMs === 500 ? 100 : 1_000);
        }
      },
    );

    it("is one per workspace, the earliest of each [DLV-19]", async ({ scene }) => {
      const { store, workspace } = scene;
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      await scene.send({ lapseMs: 300 });
      await scene.send({ task: "sooner", lapseMs: 200 });
      await scene.send({ where: { workspace: ELSEWHERE }, lapseMs: 100 });
      const found = [...(await store.nextDue())].sort((a, b) => a.dueMs - b.dueMs);
      expect(found).toEqual([
        { workspace: ELSEWHERE, dueMs: 100 },
        { workspace, dueMs: 200 },
      ]);
    });

    it("is announced if it is earlier than those before [DLV-19]", async ({ scene }) => {
      const { store } = scene;
      let calls = 0;
      store.onWake(DUE_TIMES, () => {
        calls++;
      });
      await scene.send({ task: "no time" });
      await scene.send({ task: "first", lapseMs: 500_000 });
      await expect.poll(() => calls).toBe(1);
      await scene.send({ task: "sooner", lapseMs: 400_000 });
      await expect.poll(() => calls).toBe(2);
      await scene.claimOne("ben", { task: "sooner", leaseMs: 100_000 });
      await expect.poll(() => calls).toBe(3);
    });
  });
}

async function dueTasks(scene: Scene, change: Partial<ListDue> = {}): Promise<string[]> {
  return (await scene.due(change)).due.map(({ delivery }) => delivery.task);
}
