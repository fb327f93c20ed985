/** The inbox of a role: whoever has the role may take from it, and exactly one does. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, InboxCursor } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const CODER = "role:coder";

export function roles(it: SceneTest): void {
  describe("roles", () => {
    it("one of the agents of a role gets its work, and holds it [DLV-5]", async ({ scene }) => {
      await registerCoders(scene);
      const { delivery: sent } = await scene.send({ to: CODER });
      expect(sent).toMatchObject({ receiver: CODER, state: "ready", holder: "" });
      const { delivery } = await scene.acceptOne("cyd");
      expect(delivery).toMatchObject({ id: sent.id, receiver: CODER, holder: "cyd" });
      expect(await claimTasks(scene, "ben")).toEqual([]);
      await scene.settle(await findDelivery(scene, sent.id), { kind: "completed" });
      expect(await scene.books()).toEqual({ completed: 1 });
    });

    it("of many that claim in one turn, exactly one holds it [DLV-5]", async ({ scene }) => {
      const names = Array.from({ length: 8 }, (_, i) => `coder-${i}`);
      for (const name of names) await scene.register(name, { role: "coder" });
      for (let i = 0; i < 5; i++) await scene.send({ to: CODER, task: `task ${i}` });
      const claims = await Promise.all(names.map((name) => scene.claim(name)));
      const held = claims.flatMap((each) => each.claimed.map(({ delivery }) => delivery));
      expect(new Set(held.map(({ id }) => id)).size).toBe(5);
      expect(held).toHaveLength(5);
      expect(new Set(held.map(({ holder }) => holder)).size).toBe(5);
    });

    it("others do not get it: another role, none, or only that name [DLV-5]", async ({ scene }) => {
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

    it("an agent without a role does not share an inbox with the others without one [DLV-5]", async ({
      scene,
    }) => {
      const outcome = await scene.unchanged(() => {
        const handoff = scene.handoff();
        const deliveries = handoff.deliveries.map((each) => ({ ...each, receiver: "role:" }));
        return scene.store.sendHandoff({ ...handoff, deliveries });
      });
      expect(outcome).toEqual({ kind: "unknown_receiver", receiver: "role:" });
    });

    it("own work and that of the role come in one order, the oldest first [DLV-5 DLV-13]", async ({
      scene,
    }) => {
      await registerCoders(scene);
      const sent = ["a", "b", "c", "d", "e", "f"];
      for (const [i, task] of sent.entries()) {
        await scene.send({ to: i % 2 === 0 ? CODER : "ben", task });
      }
      expect(await claimTasks(scene, "ben", { limit: 3 })).toEqual(["a", "b", "c"]);
      expect(await claimTasks(scene, "cyd", { limit: 9 })).toEqual(["e"]);
      expect(await claimTasks(scene, "ben", { limit: 9 })).toEqual(["d", "f"]);
    });

    it("what was sent to both at once comes in the order of the ids [DLV-5 DLV-13]", async ({
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

    it("order per task is kept in the inbox of the role, whoever works [DLV-5 DLV-13]", async ({
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

    it("handing the same work to the role again extends it [DLV-5 ENV-11]", async ({ scene }) => {
      await registerCoders(scene);
      const first = await scene.send({ to: CODER });
      const again = await scene.send({ to: CODER, extend: scene.extending(first) });
      expect(again.superseded).toBe(first.delivery.id);
      const held = await scene.acceptOne("cyd");
      const calls = countWakes(scene, "cyd");
      await scene.send({ to: CODER, extend: scene.extending(held) });
      await turn();
      expect(calls.count).toBeGreaterThan(0);
      expect(await scene.books()).toEqual({ superseded: 1, accepted: 1 });
    });

    it.for<[string, (scene: Scene) => Promise<unknown>, string]>([
      ["nobody has", async () => {}, "unknown_receiver"],
      [
        "only the disabled have",
        async (scene) => {
          for (const id of ["ben", "cyd"]) {
            await scene.register(id, { role: "coder", status: "disabled" });
          }
        },
        "receiver_disabled",
      ],
      [
        "somebody has in another workspace",
        (scene) => scene.register("ben", { role: "coder" }, "elsewhere"),
        "unknown_receiver",
      ],
      [
        "somebody had",
        async (scene) => {
          await scene.register("ben", { role: "coder" });
          await scene.register("ben", { role: "tester" });
        },
        "unknown_receiver",
      ],
    ])("a role that %s is refused at once [DLV-5]", async ([_case, make, kind], { scene }) => {
      await make(scene);
      const outcome = await scene.unchanged(() =>
        scene.store.sendHandoff(scene.handoff({ to: CODER })),
      );
      expect(outcome).toEqual({ kind, receiver: CODER });
    });

    it("one that is enabled is enough, also one that is paused [DLV-5]", async ({ scene }) => {
      await scene.register("ben", { role: "coder", status: "disabled" });
      await scene.register("cyd", { role: "coder", status: "paused" });
      await scene.send({ to: CODER });
      expect(await claimTasks(scene, "cyd")).toEqual([]);
      await scene.register("cyd", { status: "active" });
      expect(await claimTasks(scene, "cyd")).toEqual(["task"]);
    });

    it("whoever changes its role finds the new inbox, and keeps what it holds [DLV-5]", async ({
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

    it("work put back, or lost, goes to whoever of the role comes next [DLV-5 DLV-6]", async ({
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
      const tries = await scene.store.readAttempts(scene.workspace, lost.delivery.id);
      expect(tries.map(({ holder }) => holder)).toEqual(["ben", "cyd"]);
    });

    it("the role is woken when work comes or comes back [DLV-5 DLV-13]", async ({ scene }) => {
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

    it("several inboxes are listed as one, in one order, page by page [DLV-5 DLV-13]", async ({
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

  describe("paused agents", () => {
    it("are given nothing, by number, task or id, and keep their inbox [DLV-17]", async ({
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

    it("are told when something falls due like everybody else", async ({ scene }) => {
      await scene.register("ben", { status: "paused" });
      await scene.send({ lapseMs: 700 });
      expect(await scene.claim("ben", { limit: 1 })).toEqual({
        kind: "claimed",
        claimed: [],
        nextDueMs: 700,
      });
    });

    it("go on with what they hold, and write [DLV-17]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.register("ben", { status: "paused" });
      await scene.remember([scene.record("ben")]);
      await scene.settle(held, { kind: "completed" });
      await scene.send({ from: "ben", to: "cyd" });
      expect(await scene.books()).toEqual({ completed: 1, ready: 1 });
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
