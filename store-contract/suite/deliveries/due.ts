/** What has to be decided about: past its time, past its lease, or held by a process that has ended. */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, ListDue } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { failedWithDelay, HOLD_MS, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";
/** More than a store may look at in one go. */
const MANY = 150;

/** What makes an end of work whose time would come. */
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

/** Each way to be open, with a time to decide 500 ms from now. */
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

export function due(it: SceneTest): void {
  describe("what is due", () => {
    it("is nothing while nothing has a time that has come [DLV-6]", async ({ scene }) => {
      expect(await scene.due({ gone: ["p1"] })).toEqual({ now: scene.now, due: [] });
      await scene.send({ task: "ready" });
      await scene.underWay({ task: "held" });
      await scene.settle(await scene.underWay({ task: "failed" }), failedWithDelay(500));
      expect((await scene.due({ gone: ["p1"] })).due).toEqual([]);
    });

    it.for(OPEN)(
      "is what is %s at the very millisecond of its time, not before [DLV-2]",
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

    it("is the sooner of a deadline and a time to decide [DLV-2]", async ({ scene }) => {
      const deadline = scene.now + 300;
      const early = await scene.send({ task: "early", deadline, lapseMs: 200 });
      const late = await scene.send({ task: "late", deadline, lapseMs: 400 });
      expect([early.delivery.lapseAt, late.delivery.lapseAt]).toEqual([deadline - 100, deadline]);
      expect([early.delivery.deadline, late.delivery.deadline]).toEqual([deadline, deadline]);
    });

    it.for(ENDINGS)(
      "is not what was %s before its time [DLV-2]",
      async ([_case, end], { scene }) => {
        await scene.send({ deadline: scene.now + 500 });
        await end(scene);
        scene.clock.advance(500);
        expect((await scene.due()).due).toEqual([]);
      },
    );

    it("is not a retry whose time has come: that is claimed [DLV-7]", async ({ scene }) => {
      await scene.settle(await scene.underWay(), failedWithDelay(500));
      scene.clock.advance(500);
      expect((await scene.due()).due).toEqual([]);
    });

    it("is not due any more for what was accepted, but for its deadline [DLV-2]", async ({
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

    it("comes in the order of its times, then of its leases, then of the places of the gone, each once [DLV-6]", async ({
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

    it("of the same time comes by place [DLV-13]", async ({ scene }) => {
      for (const task of ["one", "two", "three"]) await scene.send({ task, lapseMs: 500 });
      for (const task of ["four", "five"]) await scene.send({ task });
      for (const task of ["five", "four"]) await scene.claimOne("ben", { task, leaseMs: 500 });
      scene.clock.advance(500);
      expect(await dueTasks(scene)).toEqual(["one", "two", "three", "four", "five"]);
    });

    it("is looked at only: nothing has happened to it [DLV-6]", async ({ scene }) => {
      await scene.send({ lapseMs: 500 });
      await scene.claimOne("ben", { process: "p1" });
      scene.clock.advance(LEASE_MS);
      const due = await scene.unchanged(() => scene.due({ gone: ["p1"] }));
      expect(due.due).toHaveLength(1);
    });

    it("is what belongs to its workspace [DLV-6]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      const there = await scene.send({ where: { workspace: ELSEWHERE }, lapseMs: 500 });
      scene.clock.advance(500);
      expect((await scene.due()).due).toEqual([]);
      const { due } = await scene.due({ workspace: ELSEWHERE });
      expect(expectSingle(due).delivery).toEqual(there.delivery);
    });

    it("is all there is, however much, also after reopening [DLV-6]", async ({ scene }) => {
      for (let i = 0; i < MANY; i++) await scene.send({ task: `task ${i}`, lapseMs: 1 + i });
      await scene.reopen();
      scene.clock.advance(MANY);
      expect(await dueTasks(scene)).toEqual(Array.from({ length: MANY }, (_, i) => `task ${i}`));
    });

    it("does not tell a settlement's next time before it comes [DLV-2]", async ({ scene }) => {
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

async function dueTasks(scene: Scene, change: Partial<ListDue> = {}): Promise<string[]> {
  return (await scene.due(change)).due.map(({ delivery }) => delivery.task);
}
