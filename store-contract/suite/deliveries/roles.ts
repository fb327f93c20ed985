/** Tests of role inboxes, from which any agent with the role can claim, and of paused agents. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, InboxCursor } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const CODER = "role:coder";

export function roles(it: SceneTest): void {
  describe("the inbox of a role", () => {
    it("delivers work to one agent of the role, which then holds it [DLV-5]", async ({ scene }) => {
      await registerCoders(scene);
      const { delivery: sent } = await scene.send({ to: CODER });
      expect(sent).toMatchObject({ receiver: CODER, state: "ready", holder: "" });
      const { delivery } = await scene.acceptOne("cyd");
      expect(delivery).toMatchObject({ id: sent.id, receiver: CODER, holder: "cyd" });
      expect(await claimTasks(scene, "ben")).toEqual([]);
      await scene.settle(await findDelivery(scene, sent.id), { kind: "completed" });
      expect(await scene.totals()).toEqual({ completed: 1 });
    });

    it("gives each delivery to exactly one of several concurrent claims [DLV-5]", async ({
      scene,
    }) => {
      const names = Array.from({ length: 8 }, (_, i) => `coder-${i}`);
      for (const name of names) await scene.register(name, { role: "coder" });
      for (let i = 0; i < 5; i++) await scene.send({ to: CODER, task: `task ${i}` });
      const claims = await Promise.all(names.map((name) => scene.claim(name)));
      const held = claims.flatMap((each) => each.claimed.map(({ delivery }) => delivery));
      expect(new Set(held.map(({ id }) => id)).size).toBe(5);
      expect(held).toHaveLength(5);
      expect(new Set(held.map(({ holder }) => holder)).size).toBe(5);
    });

    it("offers nothing to agents with another role, no role, or the role's name as id [DLV-5]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      await scene.register("dot", { role: "Coder" });
      await scene.register("coder");
      await scene.register("eve", { role: "coder " });
      const { delivery } = await scene.send({ to: CODER });
      for (const name of ["ada", "dot", "coder", "eve"]) {
        expect(await claimTasks(scene, name)).toEqual([]);
        expect(await claimTasks(scene, name, { delivery: delivery.id })).toEqual([]);
        expect(await claimTasks(scene, name, { task: "task" })).toEqual([]);
      }
      expect(await claimTasks(scene, "ben", { delivery: delivery.id })).toEqual(["task"]);
    });

    it("does not exist for agents without a role [DLV-5]", async ({ scene }) => {
      const outcome = await scene.unchanged(() => {
        const handoff = scene.handoff();
        const deliveries = handoff.deliveries.map((each) => ({ ...each, receiver: "role:" }));
        return scene.store.sendHandoff({ ...handoff, deliveries });
      });
      expect(outcome).toEqual({ kind: "unknown_receiver", receiver: "role:" });
    });

    it("is merged with the agent's own inbox, oldest first [DLV-5 DLV-13]", async ({ scene }) => {
      await registerCoders(scene);
      const sent = ["a", "b", "c", "d", "e", "f"];
      for (const [i, task] of sent.entries()) {
        await scene.send({ to: i % 2 === 0 ? CODER : "ben", task });
      }
      expect(await claimTasks(scene, "ben", { limit: 3 })).toEqual(["a", "b", "c"]);
      expect(await claimTasks(scene, "cyd", { limit: 9 })).toEqual(["e"]);
      expect(await claimTasks(scene, "ben", { limit: 9 })).toEqual(["d", "f"]);
    });

    it("orders deliveries to the agent and the role from one publication by id [DLV-5 DLV-13]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      const [early, late] = [1, 2].map(() => scene.ids.mint("delivery")).sort() as [string, string];
      const { deliveries } = await scene.publish([
        [CODER, { id: late }],
        ["ben", { id: early }],
      ]);
      const { claimed: both } = await scene.claim("ben", { limit: 2 });
      const ids = deliveries.map(({ id }) => id);
      expect(both.map(({ delivery }) => delivery.id)).toEqual(ids.toSorted());
    });

    it("keeps the order per task, whichever agent of the role works [DLV-5 DLV-13]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      await scene.send({ to: CODER });
      const second = await scene.send({ to: CODER, from: "cyd" });
      const own = await scene.send({ to: "ben" });
      expect([second.delivery.inTurn, own.delivery.inTurn]).toEqual([false, true]);
      const held = await scene.acceptOne("cyd");
      expect((await scene.claimOne("ben")).delivery.id).toBe(own.delivery.id);
      expect(await claimTasks(scene, "ben")).toEqual([]);
      await scene.settle(held, { kind: "completed" });
      expect((await scene.claimOne("ben")).delivery.id).toBe(second.delivery.id);
    });

    it("extends work that is handed over to the role again [DLV-5 ENV-11]", async ({ scene }) => {
      await registerCoders(scene);
      const first = await scene.send({ to: CODER });
      const again = await scene.send({ to: CODER, extend: scene.extending(first) });
      expect(again.superseded).toBe(first.delivery.id);
      const held = await scene.acceptOne("cyd");
      const calls = countWakes(scene, "cyd");
      await scene.send({ to: CODER, extend: scene.extending(held) });
      await turn();
      expect(calls.count).toBeGreaterThan(0);
      expect(await scene.totals()).toEqual({ superseded: 1, accepted: 1 });
    });

    it.for<[string, (scene: Scene) => Promise<unknown>, string]>([
      ["no agent has", async () => {}, "unknown_receiver"],
      [
        "only disabled agents have",
        async (scene) => {
          for (const id of ["ben", "cyd"]) {
            await scene.register(id, { role: "coder", status: "disabled" });
          }
        },
        "receiver_disabled",
      ],
      [
        "an agent of another workspace has",
        (scene) => scene.register("ben", { role: "coder" }, "elsewhere"),
        "unknown_receiver",
      ],
      [
        "an agent no longer has",
        async (scene) => {
          await scene.register("ben", { role: "coder" });
          await scene.register("ben", { role: "tester" });
        },
        "unknown_receiver",
      ],
    ])("refuses handoffs to a role that %s [DLV-5]", async ([_case, make, kind], { scene }) => {
      await make(scene);
      const outcome = await scene.unchanged(() =>
        scene.store.sendHandoff(scene.handoff({ to: CODER })),
      );
      expect(outcome).toEqual({ kind, receiver: CODER });
    });

    it("accepts handoffs while one agent is enabled, even if it is paused [DLV-5]", async ({
      scene,
    }) => {
      await scene.register("ben", { role: "coder", status: "disabled" });
      await scene.register("cyd", { role: "coder", status: "paused" });
      await scene.send({ to: CODER });
      expect(await claimTasks(scene, "cyd")).toEqual([]);
      await scene.register("cyd", { status: "active" });
      expect(await claimTasks(scene, "cyd")).toEqual(["task"]);
    });

    it("offers work to an agent that changes to the role, which keeps the work it holds [DLV-5]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      await scene.register("dot", { role: "tester" });
      await scene.send({ to: CODER, task: "one" });
      const held = await scene.acceptOne("ben");
      await scene.send({ to: CODER, task: "two" });
      await scene.send({ to: "role:tester", task: "three" });
      await scene.register("ben", { role: "tester" });
      expect(await claimTasks(scene, "ben", { limit: 9 })).toEqual(["three"]);
      await scene.settle(held, { kind: "completed" });
      expect(await claimTasks(scene, "cyd", { limit: 9 })).toEqual(["two"]);
    });

    it("offers released and expired work to any agent of the role [DLV-5 DLV-6]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      await scene.send({ to: CODER });
      await scene.settle(await scene.acceptOne("ben"), RELEASED);
      const lost = await scene.acceptOne("cyd");
      expect(lost.delivery).toMatchObject({ holder: "cyd", attempt: 2 });
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
      expect((await scene.claimOne("ben")).delivery).toMatchObject({ holder: "ben", attempt: 3 });
      const attempts = await scene.store.readAttempts(scene.workspace, lost.delivery.id);
      expect(attempts.map(({ holder }) => holder)).toEqual(["ben", "cyd"]);
    });

    it("wakes the role when work arrives or is released [DLV-5 DLV-13]", async ({ scene }) => {
      await registerCoders(scene);
      const sent = countWakes(scene, CODER);
      await scene.send({ to: CODER });
      await turn();
      expect(sent.count).toBeGreaterThan(0);
      const held = await scene.claimOne("ben");
      const back = countWakes(scene, CODER);
      await scene.settle(held, RELEASED);
      await turn();
      expect(back.count).toBeGreaterThan(0);
    });

    it("is listed together with other inboxes in one order, page by page [DLV-5 DLV-13]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await registerCoders(scene);
      const sent = ["a", "b", "c", "d", "e"];
      for (const [i, task] of sent.entries()) {
        await scene.send({ to: i % 2 === 0 ? CODER : "ben", task });
      }
      const which = { workspace, states: ["ready"] as const };
      const list = async (receivers: string[], page: { limit: number; after?: InboxCursor }) =>
        store.listDeliveries({ ...which, receivers, ...page });
      const tasks = (rows: readonly DeliveryWithEnvelopeRow[]) =>
        rows.map(({ delivery }) => delivery.task);
      expect(tasks(await list(["ben", CODER], { limit: 9 }))).toEqual(sent);
      expect(tasks(await list([CODER], { limit: 9 }))).toEqual(["a", "c", "e"]);
      expect(await list([], { limit: 9 })).toEqual([]);
      const first = await list([CODER, "ben"], { limit: 3 });
      const after = first.at(-1)?.delivery as InboxCursor;
      expect(tasks(await list([CODER, "ben"], { limit: 3, after }))).toEqual(["d", "e"]);
    });
  });

  describe("a paused agent", () => {
    it("claims nothing, whether by limit, task or id, and keeps its inbox [DLV-17]", async ({
      scene,
    }) => {
      await scene.register("ben", { status: "paused" });
      const { delivery } = await scene.send();
      expect(await claimTasks(scene, "ben", { limit: 5 })).toEqual([]);
      expect(await claimTasks(scene, "ben", { task: "task" })).toEqual([]);
      expect(await claimTasks(scene, "ben", { delivery: delivery.id })).toEqual([]);
      const accept = (each: DeliveryWithEnvelopeRow) => scene.continuing(each);
      expect(await claimTasks(scene, "ben", { accept })).toEqual([]);
      await scene.register("ben", { status: "active" });
      expect(await claimTasks(scene, "ben")).toEqual(["task"]);
    });

    it("gets the time until the next delivery is due", async ({ scene }) => {
      await scene.register("ben", { status: "paused" });
      await scene.send({ lapseMs: 700 });
      expect(await scene.claim("ben", { limit: 1 })).toEqual({
        kind: "claimed",
        claimed: [],
        nextDueMs: 700,
      });
    });

    it("settles the work it holds, writes memories and sends handoffs [DLV-17]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.register("ben", { status: "paused" });
      await scene.remember([scene.record("ben")]);
      await scene.settle(held, { kind: "completed" });
      await scene.send({ from: "ben", to: "cyd" });
      expect(await scene.totals()).toEqual({ completed: 1, ready: 1 });
    });
  });
}

async function registerCoders(scene: Scene): Promise<void> {
  for (const id of ["ben", "cyd"]) await scene.register(id, { role: "coder" });
}

async function claimTasks(
  scene: Scene,
  receiver: string,
  change: Parameters<Scene["claim"]>[1] = {},
): Promise<string[]> {
  const taken = await scene.claim(receiver, change);
  return taken.claimed.map(({ delivery }) => delivery.task);
}

async function findDelivery(
  { store, workspace }: Scene,
  id: string,
): Promise<DeliveryWithEnvelopeRow> {
  const claimed = await store.findDelivery(workspace, id);
  return expectSingle(claimed === undefined ? [] : [claimed]);
}

function countWakes({ store, workspace }: Scene, agent: string) {
  const calls = { count: 0 };
  store.onWake({ workspace, agent }, () => {
    calls.count++;
  });
  return calls;
}
