/** Moving: what policy and people decide about deliveries, guarded by what they saw, all or none. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/keys.ts";
import {
  type DeliveryRow,
  type DeliveryState,
  HELD_STATES,
  isHeld,
} from "../../../src/store/rows.ts";
import type { Claimed, Move, MoveDeliveries } from "../../../src/store/store.ts";
import { ATTEMPTS, LEASE_MS, only, type Scene, type SceneTest } from "../scene.ts";

const NOWHERE = "mem_00000000-0000-7000-8000-000000000000";
const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";
const WHY = '{"reason":"test"}';

/** A delivery in each state that something can lead out of. */
const IN_STATE: Readonly<Record<string, (scene: Scene) => Promise<DeliveryRow>>> = {
  ready: async (scene) => (await scene.send()).delivery,
  scheduled: async (scene) =>
    (await scene.send({ state: "scheduled", delayMs: LEASE_MS })).delivery,
  claimed: async (scene) => {
    await scene.send();
    return (await scene.claimOne("ben", { process: "p1" })).delivery;
  },
  accepted: async (scene) => (await scene.underWay()).delivery,
  waiting: async (scene) =>
    (await scene.settle(await scene.underWay(), { kind: "asked" })).delivery,
  dead: async (scene) =>
    (await scene.settle(await scene.underWay(), { kind: "failed", becomes: "dead" })).delivery,
};

const STATES = Object.keys(IN_STATE) as DeliveryState[];

/** How a try ends that is taken from its holder. */
const ends = (state: DeliveryState) =>
  isHeld(state) ? { ends: { outcome: "cancelled", reason: WHY } as const } : {};

/** What makes a delivery differ from what was seen. */
const STALE: readonly [string, Partial<Move["seen"]>][] = [
  ["another state", { state: "ready" }],
  ["an older fence", { fence: 0 }],
  ["a later fence", { fence: 2 }],
  ["another envelope", { envelope: NO_ENVELOPE }],
  ["another end of its lease", { leaseUntil: 1 }],
];

export function moving(it: SceneTest): void {
  describe("moving what is as it was seen", () => {
    it.for(STATES)("what is %s can be cancelled [DLV-18]", async (state, { scene }) => {
      const { store, workspace } = scene;
      const before = await make(scene, state);
      scene.clock.advance(7);
      const memory = scene.decision("cancel", [before]);
      const move = scene.moveOf(before, { to: "cancelled", event: "cancelled", ...ends(state) });
      const { deliveries } = await scene.move([move], { memory, agent: "cyd" });
      const after = only(deliveries);
      expect(after).toEqual({
        ...before,
        state: "cancelled",
        leaseUntil: 0,
        holdUntil: 0,
        readyAt: 0,
        settledAt: scene.now,
        settledBy: memory.id,
      });
      expect(await scene.deliveryNow(before.id)).toEqual(after);
      const [newest] = await scene.everything();
      expect(newest?.id).toBe(memory.id);
      expect((await store.readEvents(workspace, 0, 100)).at(-1)).toMatchObject({
        kind: "cancelled",
        agent: "cyd",
        task: "task",
        delivery: before.id,
        envelope: before.envelope,
        attempt: before.attempt,
        at: scene.now,
      });
    });

    it.for(HELD_STATES)(
      "what is %s loses its holder: the try has ended, late answers are refused [DLV-6 DLV-18]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const before = await make(scene, state);
        const held = (await store.findDelivery(workspace, before.id)) as Claimed;
        scene.clock.advance(7);
        const move = scene.moveOf(before, { to: "ready", event: "expired", ...ends(state) });
        const after = only((await scene.move([move])).deliveries);
        expect(after).toEqual({ ...before, state: "ready", leaseUntil: 0, holdUntil: 0 });
        expect(await store.readAttempts(workspace, before.id)).toEqual([
          {
            delivery: before.id,
            attempt: 1,
            holder: "ben",
            instance: "ben-1",
            endedAt: scene.now,
            outcome: "cancelled",
            reason: WHY,
          },
        ]);
        const late = await scene.unchanged(() =>
          store.settleDelivery(scene.settlement(held, { kind: "declined" })),
        );
        expect(late).toEqual({ kind: "lease_lost", delivery: after });
        expect(await store.listProcesses(workspace)).toEqual([]);
        expect((await scene.claimOne("ben")).delivery).toMatchObject({ attempt: 2, fence: 2 });
      },
    );

    it.for<DeliveryState>(["ready", "scheduled", "waiting"])(
      "a try of what is %s counts though nobody claimed it [DLV-2]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const before = await make(scene, state);
        const attempt = before.attempt + 1;
        scene.clock.advance(7);
        const move = scene.moveOf(before, {
          to: "ready",
          event: "unaccepted",
          ends: { outcome: "unaccepted", reason: WHY },
        });
        const after = only((await scene.move([move])).deliveries);
        expect(after).toMatchObject({ state: "ready", attempt, fence: attempt });
        expect((await store.readAttempts(workspace, before.id)).at(-1)).toEqual({
          delivery: before.id,
          attempt,
          holder: "",
          instance: "",
          endedAt: scene.now,
          outcome: "unaccepted",
          reason: WHY,
        });
        expect((await store.readEvents(workspace, 0, 100)).at(-1)).toMatchObject({
          kind: "unaccepted",
          attempt,
        });
        expect((await scene.claimOne("ben")).delivery.attempt).toBe(attempt + 1);
      },
    );

    it("after the last try nobody made, it is parked, with every one of them [DLV-2 DLV-7]", async ({
      scene,
    }) => {
      let { delivery } = await scene.send({ attempts: 2 });
      const unaccepted = { outcome: "unaccepted", reason: WHY } as const;
      const again = scene.moveOf(delivery, { to: "ready", event: "unaccepted", ends: unaccepted });
      delivery = only((await scene.move([again])).deliveries);
      const over = scene.moveOf(delivery, { to: "dead", event: "dead", ends: unaccepted });
      delivery = only((await scene.move([over])).deliveries);
      expect(delivery).toMatchObject({ state: "dead", attempt: 2, settledAt: scene.now });
      const tries = await scene.store.readAttempts(scene.workspace, delivery.id);
      expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(await scene.history()).toEqual(["sent", "unaccepted", "dead"]);
    });

    it("when a record tells it, the try ended when that was stored [DLV-7]", async ({ scene }) => {
      const { store, workspace } = scene;
      const delivery = await make(scene, "accepted");
      const early = scene.now;
      scene.clock.set(early - 1_000); // The chain does not go back.
      const memory = scene.decision("cancel", [delivery]);
      const move = scene.moveOf(delivery, {
        to: "cancelled",
        event: "cancelled",
        ...ends("accepted"),
      });
      const after = only((await scene.move([move], { memory })).deliveries);
      expect(after.settledAt).toBe(early);
      expect(await store.readAttempts(workspace, delivery.id)).toMatchObject([{ endedAt: early }]);
    });

    it("what is scheduled is ready after its delay, and not before [DLV-7]", async ({ scene }) => {
      const before = await make(scene, "claimed");
      const move = scene.moveOf(before, {
        to: "scheduled",
        event: "expired",
        delayMs: 250,
        ...ends("claimed"),
      });
      const after = only((await scene.move([move])).deliveries);
      expect(after).toMatchObject({ state: "scheduled", readyAt: scene.now + 250 });
      scene.clock.advance(249);
      expect((await scene.claim("ben")).claimed).toEqual([]);
      scene.clock.advance(1);
      expect((await scene.claimOne("ben")).delivery.id).toBe(before.id);
    });

    it("a deadline that passes ends it as expired [DLV-2]", async ({ scene }) => {
      const { delivery } = await scene.send({ deadline: scene.now + 500 });
      scene.clock.advance(500);
      const move = scene.moveOf(delivery, { to: "expired", event: "lapsed" });
      const after = only((await scene.move([move])).deliveries);
      expect(after).toEqual({ ...delivery, state: "expired", lapseAt: 0, settledAt: scene.now });
      expect((await scene.due()).due).toEqual([]);
      expect(await scene.books()).toEqual({ expired: 1 });
    });

    it("the time to decide is named anew, or is the deadline [DLV-2]", async ({ scene }) => {
      const deadline = scene.now + 9_000;
      const { delivery } = await scene.send({ deadline, lapseMs: 100 });
      const moved = async (from: DeliveryRow, change: Partial<Move>) => {
        const move = scene.moveOf(from, { to: "ready", event: "unaccepted", ...change });
        return only((await scene.move([move])).deliveries);
      };
      const unaccepted = { ends: { outcome: "unaccepted", reason: WHY } } as const;
      const kept = await moved(delivery, unaccepted);
      expect(kept.lapseAt).toBe(delivery.lapseAt);
      const later = await moved(kept, { lapseMs: 400 });
      expect(later.lapseAt).toBe(scene.now + 400);
      expect((await moved(later, { lapseMs: 90_000 })).lapseAt).toBe(deadline);
      const delayed = await moved(later, { to: "scheduled", delayMs: 5 });
      expect(delayed.lapseAt).toBe(deadline);
      expect((await moved(delayed, { lapseMs: 300 })).lapseAt).toBe(scene.now + 300);
      expect((await moved(await scene.deliveryNow(delivery.id), { lapseMs: 0 })).lapseAt).toBe(
        deadline,
      );
    });

    it("tries, deadline and followers are changed when they are named [DLV-16]", async ({
      scene,
    }) => {
      const other = await scene.send({ task: "other" });
      const { delivery } = await scene.send({ deadline: scene.now + 9_000 });
      const move = scene.moveOf(delivery, {
        to: "ready",
        event: "awaited",
        maxAttempts: 9,
        deadline: 0,
        lapseMs: 0,
        followers: other.delivery.id,
      });
      const after = only((await scene.move([move])).deliveries);
      expect(after).toEqual({
        ...delivery,
        maxAttempts: 9,
        deadline: 0,
        lapseAt: 0,
        followers: other.delivery.id,
      });
      await scene.reopen();
      expect(await scene.deliveryNow(delivery.id)).toEqual(after);
    });

    it.for(STATES)(
      "what is %s and stays so has nothing changed but what is named [DLV-16 DLV-17]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const other = await scene.send({ task: "other" });
        const before = await make(scene, state);
        const tries = await store.readAttempts(workspace, before.id);
        scene.clock.advance(7);
        const followers = other.delivery.id;
        const move = scene.moveOf(before, { to: state, event: "reminded", followers });
        const after = only((await scene.move([move])).deliveries);
        expect(after).toEqual({ ...before, followers });
        expect(await scene.deliveryNow(before.id)).toEqual(after);
        expect(await store.readAttempts(workspace, before.id)).toEqual(tries);
        expect((await scene.history()).at(-1)).toBe("reminded");
      },
    );

    it("who holds what was only annotated goes on under its lease [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      const move = scene.moveOf(held.delivery, { to: "accepted", event: "reminded", lapseMs: 500 });
      const after = only((await scene.move([move])).deliveries);
      expect(after).toEqual({ ...held.delivery, lapseAt: scene.now + 500 });
      await scene.settle(held, { kind: "completed" });
    });

    it("a question is answered with a new envelope, and goes on as another try [DLV-11]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const asked = await make(scene, "waiting");
      scene.clock.advance(7);
      const { memory, envelope } = scene.rewriting("answer", asked);
      const move = scene.moveOf(asked, { to: "ready", event: "answered" });
      const after = only((await scene.move([move], { memory, envelope })).deliveries);
      expect(after).toEqual({
        ...asked,
        state: "ready",
        envelope: envelope.id,
        settledBy: memory.id,
      });
      expect((await store.findDelivery(workspace, asked.id))?.envelope).toEqual({
        id: envelope.id,
        task: "task",
        sender: "ada",
        text: envelope.text,
        memory: memory.id,
        storedAt: scene.now,
      });
      const line = await store.readLine(workspace, "task");
      expect(line.map(({ deliveries }) => deliveries.length)).toEqual([0, 1]);
      expect((await store.readEvents(workspace, 0, 100)).at(-1)).toMatchObject({
        kind: "answered",
        envelope: envelope.id,
      });
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ attempt: 2, maxAttempts: ATTEMPTS + 1 });
      expect(again.envelope.id).toBe(envelope.id);
    });

    it("what was held goes on to a reconstructed envelope for its next holder [DLV-14]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.advance(LEASE_MS);
      const { memory, envelope } = scene.rewriting("reconstruct", held.delivery);
      const expired = { outcome: "expired", reason: "" } as const;
      const move = scene.moveOf(held.delivery, {
        to: "ready",
        event: "expired",
        ends: expired,
      });
      await scene.move([move], { memory, envelope });
      const next = await scene.claimOne("ben");
      expect(next.envelope.id).toBe(envelope.id);
      expect(next.delivery).toMatchObject({ id: held.delivery.id, attempt: 2 });
      const late = scene.settlement(held, { kind: "completed" });
      expect(await scene.store.settleDelivery(late)).toMatchObject({ kind: "lease_lost" });
    });

    it("a new envelope under a holder is told as an extension is [ENV-11]", async ({ scene }) => {
      const held = await scene.underWay();
      const { memory, envelope } = scene.rewriting("answer", held.delivery);
      const move = scene.moveOf(held.delivery, { to: "accepted", event: "answered" });
      await scene.move([move], { memory, envelope });
      const operation = scene.settlement(held, { kind: "completed" });
      const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
      expect(outcome).toMatchObject({ kind: "extended", envelope: { id: envelope.id } });
    });
  });

  describe("moving into another line", () => {
    it.for(STATES)(
      "what is %s can go to somebody else, the last in line there [DLV-7]",
      async (state, { scene }) => {
        const before = await make(scene, state);
        await scene.send({ to: "cyd", task: "earlier" });
        const memory = scene.decision("reroute", [before], { to: "cyd" });
        const change = { to: "ready", event: "rerouted", receiver: "cyd" } as const;
        const move = scene.moveOf(before, { ...change, ...ends(state) });
        const after = only((await scene.move([move], { memory })).deliveries);
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
        expect(await tasks(scene, "cyd")).toEqual(["earlier", "task", "later"]);
        expect(await tasks(scene, "ben")).toEqual([]);
      },
    );

    it("there it waits for what is open of its task, here the next one comes [DLV-7 DLV-13]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const second = await scene.send({ from: "cyd" });
      const there = await scene.send({ from: "ben", to: "cyd" });
      const calls = listen(scene, "ben");
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
      const dead = await make(scene, "dead");
      const open = await scene.send({ from: "cyd" });
      await scene.send({ task: "other" });
      const memory = scene.decision("redrive", [dead]);
      const move = scene.moveOf(dead, {
        to: "ready",
        event: "redriven",
        maxAttempts: 4,
        lapseMs: 5,
      });
      const after = only((await scene.move([move], { memory })).deliveries);
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
      expect(await tasks(scene, "ben")).toEqual(["task", "other"]);
      const [first] = await held(scene);
      expect(first?.delivery.id).toBe(open.delivery.id);
      await scene.settle(first as Claimed, { kind: "declined" });
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ id: dead.id, attempt: 2, fence: 2 });
    });

    it("parked work that is alone is in turn at once [DLV-7 DLV-13]", async ({ scene }) => {
      const dead = await make(scene, "dead");
      const later = await scene.send({ task: "other" });
      const memory = scene.decision("redrive", [dead]);
      const move = scene.moveOf(dead, { to: "ready", event: "redriven" });
      const after = only((await scene.move([move], { memory })).deliveries);
      expect(after.inTurn).toBe(true);
      expect(after.place).toBeGreaterThan(later.delivery.place);
    });

    it("parked work can be sent off to somebody else, with another envelope [DLV-7]", async ({
      scene,
    }) => {
      const dead = await make(scene, "dead");
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
      const dead = await make(scene, "dead");
      const memory = scene.decision("redrive", [dead]);
      const change = { to: "scheduled", event: "redriven", delayMs: 500 } as const;
      await scene.move([scene.moveOf(dead, change)], { memory });
      await scene.send({ from: "cyd" });
      expect(await tasks(scene, "ben")).toEqual([]);
      scene.clock.advance(500);
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.id).toBe(dead.id);
    });

    it.for<DeliveryState>(["ready", "scheduled", "claimed", "accepted", "waiting"])(
      "when what is %s ends, the next of its task comes, and its receiver is woken [DLV-13 DLV-18]",
      async (state, { scene }) => {
        const before = await make(scene, state);
        const second = await scene.send({ from: "cyd" });
        expect(second.delivery.inTurn).toBe(false);
        const calls = listen(scene, "ben");
        const memory = scene.decision("cancel", [before]);
        const change = { to: "cancelled", event: "cancelled" } as const;
        await scene.move([scene.moveOf(before, { ...change, ...ends(state) })], { memory });
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
      const after = only((await scene.move([later])).deliveries);
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
        scene.moveOf(row, { to: "cancelled", event: "cancelled", ...ends(row.state) }),
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
        expect(await refused(scene, scene.moving(moves, { memory }))).toEqual({
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
      expect(await refused(scene, scene.moving(moves))).toMatchObject({
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

  describe("moving what is not as it was seen", () => {
    it.for(STALE)(
      "%s is told, with what there is, and changes nothing [DLV-6]",
      async ([_case, change], { scene }) => {
        const { delivery } = await scene.underWay();
        const move = scene.moveOf(delivery, { to: "ready", event: "expired", ...ends("accepted") });
        const stale = { ...move, seen: { ...move.seen, ...change } };
        expect(await refused(scene, scene.moving([stale]))).toEqual({ kind: "changed", delivery });
      },
    );

    it("who was silent may have spoken up, where that is minded [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      scene.clock.advance(5);
      await scene.append(scene.record("ben"), { lease: scene.lease(held) });
      const move = scene.moveOf(held.delivery, {
        to: "ready",
        event: "expired",
        ...ends("accepted"),
      });
      const { leaseUntil } = held.delivery;
      const minded = { ...move, seen: { ...move.seen, leaseUntil } };
      const outcome = await refused(scene, scene.moving([minded]));
      expect(outcome).toEqual({
        kind: "changed",
        delivery: { ...held.delivery, leaseUntil: scene.now + LEASE_MS },
      });
      const right = { ...move, seen: { ...move.seen, leaseUntil: scene.now + LEASE_MS } };
      await scene.move([right]);
    });

    it("who does not mind moves it all the same [DLV-18]", async ({ scene }) => {
      const held = await scene.underWay();
      scene.clock.advance(5);
      await scene.store.renewLease(scene.workspace, scene.lease(held));
      const memory = scene.decision("cancel", [held.delivery]);
      const change = { to: "cancelled", event: "cancelled", ...ends("accepted") } as const;
      await scene.move([scene.moveOf(held.delivery, change)], { memory });
    });

    it("what does not exist, or not here, is told as that [DLV-6]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      const there = await scene.send({ where: { workspace: "elsewhere" } });
      const move = scene.moveOf(there.delivery, { to: "ready", event: "reminded" });
      for (const delivery of [there.delivery.id, "dlv_unknown"]) {
        expect(await refused(scene, scene.moving([{ ...move, delivery }]))).toEqual({
          kind: "changed",
          delivery: undefined,
        });
      }
    });

    it.for<[string, object, (scene: Scene, row: DeliveryRow) => Promise<Partial<MoveDeliveries>>]>([
      [
        "a receiver nobody knows",
        { kind: "unknown_receiver", receiver: "nobody" },
        async (scene, row) => to(scene, row, "nobody"),
      ],
      [
        "a receiver that is disabled",
        { kind: "receiver_disabled", receiver: "cyd" },
        async (scene, row) => {
          await scene.register("cyd", { status: "disabled" });
          return to(scene, row, "cyd");
        },
      ],
      [
        "a role nobody has",
        { kind: "unknown_receiver", receiver: "role:coder" },
        async (scene, row) => to(scene, row, "role:coder"),
      ],
      [
        "an envelope whose parent does not exist",
        { kind: "missing_parent", envelope: NO_ENVELOPE },
        async (scene, row) =>
          scene.rewriting("answer", row, { parents: [row.envelope, NO_ENVELOPE] }),
      ],
      [
        "an envelope whose id is taken",
        { kind: "id_taken" },
        async (scene, row) => {
          const { memory, envelope } = scene.rewriting("answer", row);
          return { memory, envelope: { ...envelope, id: row.envelope } };
        },
      ],
      [
        "a record of somebody unknown",
        { kind: "unknown_agent", agent: "nobody" },
        async (scene, row) => ({ memory: scene.decision("answer", [row], { by: "nobody" }) }),
      ],
      [
        "a record of somebody disabled",
        { kind: "agent_disabled", agent: "ada" },
        async (scene, row) => {
          await scene.register("ada", { status: "disabled" });
          return { memory: scene.decision("answer", [row]) };
        },
      ],
      [
        "a record that should have been signed",
        { kind: "key_changed", agent: "ada" },
        async (scene, row) => {
          await scene.register("ada", { publicKey: signerOf(generateKey()).publicKey });
          return { memory: scene.decision("answer", [row]) };
        },
      ],
      [
        "a record that refers to nothing",
        { kind: "missing_reference", reference: NOWHERE },
        async (scene) => ({ memory: scene.record("ada", { content: "see", refs: [NOWHERE] }) }),
      ],
      [
        "a record whose id is taken",
        { kind: "id_taken" },
        async (scene) => {
          const { id } = only(await scene.remember([scene.record("ada")]));
          return { memory: scene.record("ada", { content: "again", id }) };
        },
      ],
    ])(
      "%s is refused, and nothing is moved [DLV-1]",
      async ([_case, refusal, given], { scene }) => {
        const { delivery } = await scene.send();
        const move = scene.moveOf(delivery, { to: "scheduled", event: "reminded", delayMs: 5 });
        const change = await given(scene, delivery);
        expect(await refused(scene, scene.moving([move], change))).toMatchObject(refusal);
      },
    );

    it("it is told first what was not as seen, then the receiver, the parent, the record, the envelope [DLV-1]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      const taken = only(await scene.remember([scene.record("ada")])).id;
      const good = scene.rewriting("reroute", delivery, { to: "cyd" });
      const change = { to: "ready", event: "rerouted", receiver: "nobody" } as const;
      const move = scene.moveOf(delivery, change);
      const parents = [NO_ENVELOPE];
      const kind = async (moves: Move, change: Partial<MoveDeliveries>) =>
        (await refused(scene, scene.moving([moves], change))).kind;
      const memory = scene.record("ada", { content: "again", id: taken });
      const envelope = { ...good.envelope, id: delivery.envelope };
      const stale = { ...move, seen: { ...move.seen, fence: 9 } };
      const allWrong = { memory, envelope: { ...envelope, parents } };
      expect(await kind(stale, allWrong)).toBe("changed");
      expect(await kind(move, allWrong)).toBe("unknown_receiver");
      const known = { ...move, receiver: "cyd" };
      expect(await kind(known, allWrong)).toBe("missing_parent");
      expect(await refused(scene, scene.moving([known], { memory, envelope }))).toEqual({
        kind: "id_taken",
        id: taken,
      });
      const outcome = await refused(scene, scene.moving([known], { ...good, envelope }));
      expect(outcome).toEqual({ kind: "id_taken", id: delivery.envelope });
    });
  });

  describe("waking by moves", () => {
    it.for<[string, string, (scene: Scene) => Promise<() => Promise<unknown>>]>([
      [
        "the sender",
        "ada",
        async (scene) => {
          const { delivery } = await scene.underWay();
          return () => remind(scene, delivery);
        },
      ],
      [
        "the receiver",
        "ben",
        async (scene) => {
          const { delivery } = await scene.send();
          return () => remind(scene, delivery);
        },
      ],
      [
        "the new receiver",
        "cyd",
        async (scene) => {
          const { delivery } = await scene.send();
          return () => reroute(scene, delivery, "cyd");
        },
      ],
      [
        "the holder that lost it",
        "ben",
        async (scene) => {
          const { delivery } = await scene.underWay();
          return () => reroute(scene, delivery, "cyd");
        },
      ],
      [
        "the holder of a role's work",
        "cyd",
        async (scene) => {
          await scene.register("cyd", { role: "coder" });
          await scene.send({ to: "role:coder" });
          const { delivery } = await scene.acceptOne("cyd");
          return () => remind(scene, delivery);
        },
      ],
    ])(
      "%s (%s) is called after the commit [DLV-13 DLV-18]",
      async ([_case, agent, prepare], { scene }) => {
        const act = await prepare(scene);
        await turn();
        const calls = listen(scene, agent);
        await act();
        await turn();
        expect(calls.count).toBeGreaterThan(0);
      },
    );

    it("nobody is called after a refusal, nor anybody it does not concern [DLV-13]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      await turn();
      const [ada, ben, cyd] = ["ada", "ben", "cyd"].map((agent) => listen(scene, agent));
      const move = scene.moveOf(delivery, { to: "ready", event: "reminded" });
      const stale = { ...move, seen: { ...move.seen, fence: 1 } };
      await refused(scene, scene.moving([stale]));
      await turn();
      expect([ada?.count, ben?.count, cyd?.count]).toEqual([0, 0, 0]);
      await scene.move([move]);
      await turn();
      expect(cyd?.count).toBe(0);
      expect(ben?.count).toBeGreaterThan(0);
    });
  });
}

async function make(scene: Scene, state: DeliveryState): Promise<DeliveryRow> {
  const row = await IN_STATE[state]?.(scene);
  expect(row?.state).toBe(state);
  return row as DeliveryRow;
}

/** To somebody else, as a change of the whole operation. */
function to(scene: Scene, row: DeliveryRow, receiver: string): Partial<MoveDeliveries> {
  const move = scene.moveOf(row, { to: "ready", event: "rerouted", receiver });
  return { moves: [move], memory: scene.decision("reroute", [row], { to: receiver }) };
}

/** Moves what must be refused, and expects that nothing has changed. */
function refused(scene: Scene, operation: MoveDeliveries) {
  return scene.unchanged(() => scene.store.moveDeliveries(operation));
}

async function reroute(scene: Scene, row: DeliveryRow, receiver: string): Promise<DeliveryRow> {
  const memory = scene.decision("reroute", [row], { to: receiver });
  const move = scene.moveOf(row, { to: "ready", event: "rerouted", receiver, ...ends(row.state) });
  return only((await scene.move([move], { memory })).deliveries);
}

async function remind(scene: Scene, row: DeliveryRow): Promise<unknown> {
  return scene.move([scene.moveOf(row, { to: row.state, event: "reminded" })]);
}

async function tasks(scene: Scene, receiver: string): Promise<string[]> {
  const { claimed } = await scene.claim(receiver, { limit: 9 });
  return claimed.map(({ delivery }) => delivery.task);
}

async function held({ store, workspace }: Scene): Promise<readonly Claimed[]> {
  return store.listDeliveries({ workspace, receivers: ["ben"], states: HELD_STATES, limit: 9 });
}

function listen({ store, workspace }: Scene, agent: string) {
  const calls = { count: 0 };
  store.onWake({ workspace, agent }, () => {
    calls.count++;
  });
  return calls;
}
