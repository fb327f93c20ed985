/** Tests of the inbox order after a move, and of moving several deliveries at once, all or none. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { DeliveryRow, DeliveryState } from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";
import {
  attemptEnd,
  expectRefusedMove,
  listHeld,
  makeDelivery,
  reroute,
  STATES,
} from "./move-fixtures.ts";
import { countWakes } from "./moving.ts";

export function movingLines(it: SceneTest): void {
  describe("the inbox order after a move", () => {
    it.for(STATES)(
      "moves a %s delivery to the end of another agent's inbox [DLV-7]",
      async (state, { scene }) => {
        const before = await makeDelivery(scene, state);
        await scene.send({ to: "cyd", task: "earlier" });
        const memory = scene.decision("reroute", [before], { to: "cyd" });
        const change = { to: "ready", event: "rerouted", receiver: "cyd" } as const;
        const move = scene.moveOf(before, { ...change, ...attemptEnd(state) });
        const after = expectSingle((await scene.move([move], { memory })).deliveries);
        expect(after).toEqual({
          ...before,
          state: "ready",
          receiver: "cyd",
          place: after.place,
          inTurn: true,
          leaseUntil: 0,
          holdUntil: 0,
          readyAt: 0,
          settledAt: 0,
          settledBy: memory.id,
        });
        expect(await scene.deliveryNow(before.id)).toEqual(after);
        await scene.send({ to: "cyd", task: "later" });
        expect(await listTasks(scene, "cyd")).toEqual(["earlier", "task", "later"]);
        expect(await listTasks(scene, "ben")).toEqual([]);
      },
    );

    it("queues behind open work of the task there, and puts the next one in the old inbox in turn [DLV-7 DLV-13]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const there = await scene.send({ from: "ben", to: "cyd" });
      const calls = countWakes(scene, "ben");
      const moved = await reroute(scene, first.delivery, "cyd");
      await turn();
      expect(calls.count).toBeGreaterThan(0);
      expect(moved.inTurn).toBe(false);
      expect((await scene.deliveryNow(second.delivery.id)).inTurn).toBe(true);
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.id).toBe(second.delivery.id);
      const held = await scene.claimOne("cyd", { limit: 9 });
      expect(held.delivery.id).toBe(there.delivery.id);
      await scene.settle(held, { kind: "declined" });
      expect((await scene.claimOne("cyd")).delivery.id).toBe(moved.id);
    });

    it("puts a delivery in turn that was not in turn in its old inbox [DLV-13]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const third = await scene.send({ from: "ben" });
      expect((await reroute(scene, second.delivery, "cyd")).inTurn).toBe(true);
      expect(await scene.deliveryNow(first.delivery.id)).toEqual(first.delivery);
      expect(await scene.deliveryNow(third.delivery.id)).toEqual(third.delivery);
    });

    it("moves a delivery to the inbox of a role [DLV-5 DLV-7]", async ({ scene }) => {
      await scene.register("cyd", { role: "coder" });
      const { delivery } = await scene.send();
      await reroute(scene, delivery, "role:coder");
      expect((await scene.claimOne("cyd")).delivery).toMatchObject({ receiver: "role:coder" });
    });

    it("redrives a dead letter to the end of its inbox with a new attempt limit [DLV-7]", async ({
      scene,
    }) => {
      const dead = await makeDelivery(scene, "dead");
      const open = await scene.send({ from: "cyd" });
      await scene.send({ task: "other" });
      const memory = scene.decision("redrive", [dead]);
      const move = scene.moveOf(dead, {
        to: "ready",
        event: "redriven",
        maxAttempts: 4,
        lapseMs: 5,
      });
      const after = expectSingle((await scene.move([move], { memory })).deliveries);
      expect(after).toEqual({
        ...dead,
        state: "ready",
        place: after.place,
        inTurn: false,
        maxAttempts: 4,
        lapseAt: scene.now + 5,
        settledAt: 0,
        settledBy: memory.id,
      });
      expect(await listTasks(scene, "ben")).toEqual(["task", "other"]);
      const [first] = await listHeld(scene);
      expect(first?.delivery.id).toBe(open.delivery.id);
      await scene.settle(first as DeliveryWithEnvelopeRow, { kind: "declined" });
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ id: dead.id, attempt: 2, fence: 2 });
    });

    it("puts a redriven dead letter in turn if no other work of its task is open [DLV-7 DLV-13]", async ({
      scene,
    }) => {
      const dead = await makeDelivery(scene, "dead");
      const later = await scene.send({ task: "other" });
      const memory = scene.decision("redrive", [dead]);
      const move = scene.moveOf(dead, { to: "ready", event: "redriven" });
      const after = expectSingle((await scene.move([move], { memory })).deliveries);
      expect(after.inTurn).toBe(true);
      expect(after.place).toBeGreaterThan(later.delivery.place);
    });

    it("redrives a dead letter to another agent with a new envelope [DLV-7]", async ({ scene }) => {
      const dead = await makeDelivery(scene, "dead");
      const { memory, envelope } = scene.rewriting("redrive", dead, { to: "cyd" });
      const change = { to: "ready", event: "redriven", receiver: "cyd" } as const;
      await scene.move([scene.moveOf(dead, change)], { memory, envelope });
      const taken = await scene.claimOne("cyd");
      expect(taken.envelope.id).toBe(envelope.id);
      expect(taken.delivery).toMatchObject({ id: dead.id, attempt: 2 });
    });

    it("redrives a dead letter after a delay, and holds up its task until then [DLV-7 DLV-13]", async ({
      scene,
    }) => {
      const dead = await makeDelivery(scene, "dead");
      const memory = scene.decision("redrive", [dead]);
      const change = { to: "scheduled", event: "redriven", delayMs: 500 } as const;
      await scene.move([scene.moveOf(dead, change)], { memory });
      await scene.send({ from: "cyd" });
      expect(await listTasks(scene, "ben")).toEqual([]);
      scene.clock.advance(500);
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.id).toBe(dead.id);
    });

    it.for<DeliveryState>(["ready", "scheduled", "claimed", "accepted", "waiting"])(
      "puts the next delivery in turn and wakes its receiver when a %s one is cancelled [DLV-13 DLV-18]",
      async (state, { scene }) => {
        const before = await makeDelivery(scene, state);
        const second = await scene.send({ from: "cyd" });
        expect(second.delivery.inTurn).toBe(false);
        const calls = countWakes(scene, "ben");
        const memory = scene.decision("cancel", [before]);
        const change = { to: "cancelled", event: "cancelled" } as const;
        await scene.move([scene.moveOf(before, { ...change, ...attemptEnd(state) })], { memory });
        await turn();
        expect(calls.count).toBeGreaterThan(0);
        expect(await scene.deliveryNow(second.delivery.id)).toEqual({
          ...second.delivery,
          inTurn: true,
        });
      },
    );

    it("keeps the place and turn of a delivery that stays open [DLV-13]", async ({ scene }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const later = scene.moveOf(first.delivery, { to: "scheduled", event: "expired", delayMs: 5 });
      const after = expectSingle((await scene.move([later])).deliveries);
      expect(after).toMatchObject({ place: first.delivery.place, inTurn: true });
      expect(await scene.deliveryNow(second.delivery.id)).toEqual(second.delivery);
    });
  });

  describe("moving several deliveries at once", () => {
    it("cancels several deliveries with one memory, in the given order [DLV-18]", async ({
      scene,
    }) => {
      const first = await scene.underWay();
      const second = await scene.send({ from: "cyd" });
      const third = await scene.send({ to: "cyd" });
      const rows = [third.delivery, first.delivery, second.delivery];
      const memory = scene.decision("cancel", rows);
      const moves = rows.map((row) =>
        scene.moveOf(row, { to: "cancelled", event: "cancelled", ...attemptEnd(row.state) }),
      );
      const { deliveries } = await scene.move(moves, { memory });
      expect(deliveries.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
      expect(new Set(deliveries.map(({ settledBy }) => settledBy))).toEqual(new Set([memory.id]));
      expect(await scene.totals()).toEqual({ cancelled: 3 });
      const last = (await scene.store.readEvents(scene.workspace, 0, 100)).slice(-3);
      expect(last.map(({ delivery }) => delivery)).toEqual(rows.map(({ id }) => id));
    });

    it("puts the first remaining delivery in turn when several before it end [DLV-13]", async ({
      scene,
    }) => {
      const rows: DeliveryRow[] = [];
      for (const from of ["ada", "cyd", "ben"]) rows.push((await scene.send({ from })).delivery);
      const [first, second, third] = rows as [DeliveryRow, DeliveryRow, DeliveryRow];
      const memory = scene.decision("cancel", [first, second]);
      const change = { to: "cancelled", event: "cancelled" } as const;
      await scene.move([scene.moveOf(first, change), scene.moveOf(second, change)], { memory });
      expect((await scene.deliveryNow(third.id)).inTurn).toBe(true);
      expect((await scene.claimOne("ben")).delivery.id).toBe(third.id);
    });

    it.for([false, true])(
      "puts one of several deliveries of a task in turn and loses none (reversed: %s) [DLV-13]",
      async (reversed, { scene }) => {
        const sent: DeliveryRow[] = [];
        for (const from of ["ada", "cyd"]) sent.push((await scene.send({ from })).delivery);
        const rows = reversed ? sent.toReversed() : sent;
        const memory = scene.decision("reroute", rows, { to: "cyd" });
        const change = { to: "ready", event: "rerouted", receiver: "cyd" } as const;
        await scene.move(
          rows.map((row) => scene.moveOf(row, change)),
          { memory },
        );
        expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
        const worked: string[] = [];
        for (let i = 0; i < 2; i++) {
          const held = await scene.claimOne("cyd", { limit: 9 });
          worked.push(held.delivery.id);
          await scene.settle(held, { kind: "declined" });
        }
        expect(worked.toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
      },
    );

    it("applies a different change to each delivery [DLV-16]", async ({ scene }) => {
      const waiting = await scene.send({ state: "scheduled", delayMs: 1e9, task: "joined" });
      const done = await scene.send({ task: "line" });
      const moves = [
        scene.moveOf(done.delivery, { to: "ready", event: "postponed", followers: "" }),
        scene.moveOf(waiting.delivery, { to: "ready", event: "opened" }),
      ];
      const { deliveries } = await scene.move(moves);
      expect(deliveries.map(({ state }) => state)).toEqual(["ready", "ready"]);
      expect((await scene.history()).slice(-2)).toEqual(["postponed", "opened"]);
    });

    it.for([0, 1, 2])(
      "moves none when the one at index %i has changed [DLV-1]",
      async (wrong, { scene }) => {
        const rows: DeliveryRow[] = [];
        for (const task of ["a", "b", "c"]) rows.push((await scene.send({ task })).delivery);
        const memory = scene.decision("cancel", rows);
        const moves = rows.map((row, i) => {
          const move = scene.moveOf(row, { to: "cancelled", event: "cancelled" });
          return i === wrong ? { ...move, seen: { ...move.seen, fence: 1 } } : move;
        });
        expect(await expectRefusedMove(scene, scene.moving(moves, { memory }))).toEqual({
          kind: "changed",
          delivery: rows[wrong],
        });
      },
    );

    it("returns the first of several deliveries that have changed [DLV-1]", async ({ scene }) => {
      const one = await scene.send({ task: "one" });
      const two = await scene.send({ task: "two" });
      const change = { to: "ready", event: "reminded" } as const;
      const moves = [two, one].map(({ delivery }) => scene.moveOf(delivery, change));
      await scene.claim("ben", { limit: 2 });
      expect(await expectRefusedMove(scene, scene.moving(moves))).toMatchObject({
        kind: "changed",
        delivery: { id: two.delivery.id, state: "claimed" },
      });
    });

    it("carries out concurrent moves in order, and refuses each that has changed [DLV-1 DLV-19]", async ({
      scene,
    }) => {
      const rows: DeliveryRow[] = [];
      for (let n = 0; n < 12; n++) rows.push((await scene.send({ task: `task ${n}` })).delivery);
      const hasChanged = (row: DeliveryRow): boolean => rows.indexOf(row) % 4 === 2;
      const before = (await scene.history()).length;
      const outcomes = await Promise.all(
        rows.map((row) => {
          const move = scene.moveOf(row, { to: "ready", event: "reminded" });
          const seen = hasChanged(row) ? { ...move.seen, fence: 1 } : move.seen;
          return scene.store.moveDeliveries(scene.moving([{ ...move, seen }]));
        }),
      );
      expect(outcomes).toMatchObject(
        rows.map((row) =>
          hasChanged(row)
            ? { kind: "changed", delivery: { id: row.id } }
            : { kind: "moved", deliveries: [{ id: row.id }] },
        ),
      );
      const events = (await scene.store.readEvents(scene.workspace, 0, 100)).slice(before);
      const moved = rows.filter((row) => !hasChanged(row));
      expect(events.map(({ delivery }) => delivery)).toEqual(moved.map(({ id }) => id));
    });

    it("accepts one of several concurrent moves of the same delivery [DLV-6]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      const memories = [1, 2, 3].map(() => scene.decision("cancel", [delivery]));
      const move = scene.moveOf(delivery, { to: "cancelled", event: "cancelled" });
      const outcomes = await Promise.all(
        memories.map((memory) => scene.store.moveDeliveries(scene.moving([move], { memory }))),
      );
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["changed", "changed", "moved"]);
      expect(await scene.everything()).toHaveLength(2);
    });
  });
}

async function listTasks(scene: Scene, receiver: string): Promise<string[]> {
  const { claimed } = await scene.claim(receiver, { limit: 9 });
  return claimed.map(({ delivery }) => delivery.task);
}
