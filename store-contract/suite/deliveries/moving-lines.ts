/** Moving deliveries into another line, and several of them at once, all or none. */
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
  describe("moving into another line", () => {
    it.for(STATES)(
      "what is %s can go to somebody else, the last in line there [DLV-7]",
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

    it("there it waits for what is open of its task, here the next one comes [DLV-7 DLV-13]", async ({
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

    it("what was not in turn here may be so there [DLV-13]", async ({ scene }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const third = await scene.send({ from: "ben" });
      expect((await reroute(scene, second.delivery, "cyd")).inTurn).toBe(true);
      expect(await scene.deliveryNow(first.delivery.id)).toEqual(first.delivery);
      expect(await scene.deliveryNow(third.delivery.id)).toEqual(third.delivery);
    });

    it("a role's inbox is a receiver like any other [DLV-5 DLV-7]", async ({ scene }) => {
      await scene.register("cyd", { role: "coder" });
      const { delivery } = await scene.send();
      await reroute(scene, delivery, "role:coder");
      expect((await scene.claimOne("cyd")).delivery).toMatchObject({ receiver: "role:coder" });
    });

    it("parked work that is sent off again is the last in line, with tries as named [DLV-7]", async ({
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

    it("parked work that is alone is in turn at once [DLV-7 DLV-13]", async ({ scene }) => {
      const dead = await makeDelivery(scene, "dead");
      const later = await scene.send({ task: "other" });
      const memory = scene.decision("redrive", [dead]);
      const move = scene.moveOf(dead, { to: "ready", event: "redriven" });
      const after = expectSingle((await scene.move([move], { memory })).deliveries);
      expect(after.inTurn).toBe(true);
      expect(after.place).toBeGreaterThan(later.delivery.place);
    });

    it("parked work can be sent off to somebody else, with another envelope [DLV-7]", async ({
      scene,
    }) => {
      const dead = await makeDelivery(scene, "dead");
      const { memory, envelope } = scene.rewriting("redrive", dead, { to: "cyd" });
      const change = { to: "ready", event: "redriven", receiver: "cyd" } as const;
      await scene.move([scene.moveOf(dead, change)], { memory, envelope });
      const taken = await scene.claimOne("cyd");
      expect(taken.envelope.id).toBe(envelope.id);
      expect(taken.delivery).toMatchObject({ id: dead.id, attempt: 2 });
    });

    it("parked work can be sent off for later, and holds its line up until then [DLV-7 DLV-13]", async ({
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
      "when what is %s ends, the next of its task comes, and its receiver is woken [DLV-13 DLV-18]",
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

    it("what stays open keeps its place and its turn [DLV-13]", async ({ scene }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const later = scene.moveOf(first.delivery, { to: "scheduled", event: "expired", delayMs: 5 });
      const after = expectSingle((await scene.move([later])).deliveries);
      expect(after).toMatchObject({ place: first.delivery.place, inTurn: true });
      expect(await scene.deliveryNow(second.delivery.id)).toEqual(second.delivery);
    });
  });

  describe("moving several at once", () => {
    it("a whole task is cancelled with one record, in the order asked for [DLV-18]", async ({
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
      expect(await scene.books()).toEqual({ cancelled: 3 });
      const last = (await scene.store.readEvents(scene.workspace, 0, 100)).slice(-3);
      expect(last.map(({ delivery }) => delivery)).toEqual(rows.map(({ id }) => id));
    });

    it("the line behind several that end at once goes on with the first that is left [DLV-13]", async ({
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
      "of several of a task that go to one line, one is in turn, and none is lost (reversed: %s) [DLV-13]",
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

    it("each may go its own way, with one envelope for those it is for [DLV-16]", async ({
      scene,
    }) => {
      const waiting = await scene.send({ state: "scheduled", delayMs: 1e9, task: "joined" });
      const done = await scene.send({ task: "line" });
      const moves = [
        scene.moveOf(done.delivery, { to: "ready", event: "awaited", followers: "" }),
        scene.moveOf(waiting.delivery, { to: "ready", event: "opened" }),
      ];
      const { deliveries } = await scene.move(moves);
      expect(deliveries.map(({ state }) => state)).toEqual(["ready", "ready"]);
      expect((await scene.history()).slice(-2)).toEqual(["awaited", "opened"]);
    });

    it.for([0, 1, 2])(
      "when one of them (number %i) is not as it was seen, none is moved [DLV-1]",
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

    it("of several that are not as they were seen, the first is told [DLV-1]", async ({
      scene,
    }) => {
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

    it("of several moves of the same delivery in one turn, one succeeds [DLV-6]", async ({
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
