/** Tests of priorities and delays, and of work that is dead-lettered when it is sent. */
import { describe, expect } from "vitest";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** More places ahead than any test has deliveries. */
const URGENT = 1_000_000;

export function priorities(it: SceneTest): void {
  describe("priorities", () => {
    it("claims urgent work before earlier work, and low-priority work after later work [DLV-13]", async ({
      scene,
    }) => {
      await scene.send({ task: "first" });
      await scene.send({ task: "some day", ahead: -URGENT });
      await scene.send({ task: "second" });
      await scene.send({ task: "urgent", ahead: URGENT });
      await scene.send({ task: "urgent too", ahead: URGENT });
      await scene.send({ task: "most urgent", ahead: 2 * URGENT });
      await scene.send({ task: "third" });
      const order = ["most urgent", "urgent", "urgent too", "first", "second", "third", "some day"];
      expect(await listReadyTasks(scene)).toEqual(order);
      expect(await claimTasks(scene, 2)).toEqual(order.slice(0, 2));
      await scene.reopen();
      expect(await claimTasks(scene, 9)).toEqual(order.slice(2));
    });

    it("moves a delivery ahead by the given number of places [DLV-13]", async ({ scene }) => {
      for (const task of ["one", "two", "three"]) await scene.send({ task });
      const { delivery } = await scene.send({ task: "four", ahead: 2 });
      const two = (await scene.store.readLine(scene.workspace, "two"))[0]?.deliveries[0];
      expect(delivery.place).toBe(two?.place);
      expect((await claimTasks(scene, 9)).at(-1)).toBe("three");
    });

    it("does not move urgent work ahead of open work of the same receiver and task [DLV-13]", async ({
      scene,
    }) => {
      await scene.send();
      const urgent = await scene.send({ from: "cyd", ahead: URGENT });
      expect(urgent.delivery.inTurn).toBe(false);
      await scene.send({ task: "other" });
      expect(await claimTasks(scene, 9)).toEqual(["task", "other"]);
      const { store, workspace } = scene;
      const states = ["claimed", "ready"] as const;
      const all = await store.listDeliveries({ workspace, receivers: ["ben"], states, limit: 9 });
      expect(all.map(({ delivery }) => delivery.id)[1]).toBe(urgent.delivery.id);
    });

    it("claims work after earlier work of its task, even if that has low priority [DLV-13]", async ({
      scene,
    }) => {
      const first = await scene.send({ ahead: -URGENT });
      const second = await scene.send({ from: "cyd" });
      const third = await scene.send({ from: "ben" });
      const turns = [first, second, third].map(({ delivery }) => delivery.inTurn);
      expect(turns).toEqual([true, false, false]);
      const { claimed: held } = await scene.claim("ben", { limit: 9 });
      expect(expectSingle(held).delivery.id).toBe(first.delivery.id);
      await scene.settle(expectSingle(held), { kind: "declined" });
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.id).toBe(second.delivery.id);
    });

    it("keeps the place of waiting work that is extended, whatever the new priority [DLV-13 ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send({ task: "urgent", ahead: URGENT });
      await scene.send({ task: "other" });
      const again = await scene.send({ task: "urgent", extend: scene.extending(first) });
      expect(again.delivery.place).toBe(first.delivery.place);
      expect(await claimTasks(scene, 9)).toEqual(["urgent", "other"]);
    });

    it("keeps the priority of released work [DLV-7 DLV-13]", async ({ scene }) => {
      await scene.send({ task: "first" });
      await scene.send({ task: "urgent", ahead: URGENT });
      const held = await scene.acceptOne("ben");
      await scene.settle(held, { kind: "released", becomes: "ready", lapseMs: 0, counts: true });
      expect(await claimTasks(scene, 9)).toEqual(["urgent", "first"]);
    });
  });

  describe("delays", () => {
    it("offers delayed work in its original place when its time has come [DLV-13]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send({ task: "later", state: "scheduled", delayMs: 500 });
      expect(delivery).toMatchObject({ state: "scheduled", readyAt: scene.now + 500, attempt: 0 });
      expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
      expect((await scene.claim("cyd")).nextDueMs).toBe(500);
      await scene.send({ task: "now" });
      scene.clock.advance(499);
      expect(await claimTasks(scene, 9)).toEqual(["now"]);
      scene.clock.advance(1);
      await scene.send({ task: "after" });
      expect(await claimTasks(scene, 9)).toEqual(["later", "after"]);
      expect(await scene.history()).toEqual([
        ...["sent", "sent", "claimed", "sent", "claimed", "claimed"],
      ]);
    });

    it("holds up later work of the same task [DLV-13]", async ({ scene }) => {
      await scene.send({ state: "scheduled", delayMs: 500 });
      await scene.send({ from: "cyd" });
      expect(await claimTasks(scene, 9)).toEqual([]);
      scene.clock.advance(500);
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.sender).toBe("ada");
    });

    it("replaces delayed work, at once or with another delay [ENV-11]", async ({ scene }) => {
      const first = await scene.send({ state: "scheduled", delayMs: 500 });
      const extend = scene.extending(first);
      const second = await scene.send({ state: "scheduled", delayMs: 900, extend });
      expect(second.delivery).toMatchObject({ state: "scheduled", readyAt: scene.now + 900 });
      const third = await scene.send({ extend: scene.extending(second) });
      expect(third.delivery).toMatchObject({ state: "ready", readyAt: 0 });
      expect(await scene.totals()).toEqual({ superseded: 2, ready: 1 });
    });

    it("does not claim work past its deadline, whether by limit, task or id [DLV-2]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send({ task: "late", deadline: scene.now + 100 });
      await scene.send({ task: "early", deadline: scene.now + 101 });
      scene.clock.advance(100);
      const late = await scene.claim("ben", { delivery: delivery.id });
      expect(late).toEqual({ kind: "claimed", claimed: [], nextDueMs: 0 });
      expect((await scene.claim("ben", { task: "late" })).claimed).toEqual([]);
      const { claimed } = await scene.claim("ben", { limit: 9 });
      expect(claimed.map((each) => each.delivery.task)).toEqual(["early"]);
    });

    it("replaces the deadline and decision time when work is extended [DLV-2]", async ({
      scene,
    }) => {
      const deadline = scene.now + 900;
      const first = await scene.send({ deadline, lapseMs: 300 });
      expect(first.delivery).toMatchObject({ deadline, lapseAt: scene.now + 300 });
      const again = await scene.send({ deadline: 0, extend: scene.extending(first) });
      expect(again.delivery).toMatchObject({ deadline: 0, lapseAt: 0 });
      expect(await scene.deliveryNow(first.delivery.id)).toMatchObject({ deadline, lapseAt: 0 });
      expect((await scene.claim("cyd")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
    });
  });

  describe("work that is dead-lettered when it is sent", () => {
    const REASON = '{"reason":"too many hops"}';

    it("records an attempt without a holder that states the reason, and is never offered [ENV-9 DLV-7]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const sent = await scene.send({ state: "dead", reason: REASON, deadline: 7, lapseMs: 5 });
      expect(sent.delivery).toMatchObject({
        state: "dead",
        attempt: 1,
        fence: 1,
        holder: "",
        deadline: 7,
        lapseAt: 0,
        settledAt: scene.now,
        settledBy: "",
      });
      const { id } = sent.delivery;
      expect(await scene.deliveryNow(id)).toEqual(sent.delivery);
      expect(await store.readAttempts(workspace, id)).toEqual([
        {
          delivery: id,
          attempt: 1,
          holder: "",
          instance: "",
          endedAt: scene.now,
          outcome: "stopped",
          reason: REASON,
        },
      ]);
      expect(await scene.history()).toEqual(["dead"]);
      expect(await claimTasks(scene, 9)).toEqual([]);
      expect(expectSingle(await store.readLine(workspace, "task")).deliveries).toEqual([
        sent.delivery,
      ]);
    });

    it("does not hold up later work, and completes the work it was handed on from [ENV-9 DLV-1]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.send({ from: "ben", to: "cyd", settles: held, state: "dead", reason: REASON });
      const next = await scene.send({ from: "ada", to: "cyd" });
      expect(next.delivery.inTurn).toBe(true);
      expect(await scene.totals()).toEqual({ completed: 1, dead: 1, ready: 1 });
    });

    it("puts the next delivery in turn when it replaces waiting work [DLV-13 ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      await scene.send({ state: "dead", reason: REASON, extend: scene.extending(first) });
      expect((await scene.deliveryNow(second.delivery.id)).inTurn).toBe(true);
      expect((await scene.claimOne("ben")).delivery.id).toBe(second.delivery.id);
    });

    it("does not count as open when the same work is handed over again [ENV-11]", async ({
      scene,
    }) => {
      await scene.send({ state: "dead", reason: REASON });
      expectOutcome(await scene.store.sendHandoff(scene.handoff()), "sent");
      expect(await scene.totals()).toEqual({ dead: 1, ready: 1 });
    });
  });
}

async function claimTasks(scene: Scene, limit: number): Promise<string[]> {
  const taken = await scene.claim("ben", { limit });
  return taken.claimed.map(({ delivery }) => delivery.task);
}

async function listReadyTasks({ store, workspace }: Scene): Promise<string[]> {
  const which = { workspace, receivers: ["ben"], states: ["ready"] as const, limit: 100 };
  return (await store.listDeliveries(which)).map(({ delivery }) => delivery.task);
}
