/**
 * Tests of `moveDeliveries()`: decisions of policies and people about deliveries, guarded by what
 * they saw, and the agents that a move wakes.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type DeliveryRow, type DeliveryState, HELD_STATES } from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { ATTEMPTS, LEASE_MS } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";
import {
  attemptEnd,
  expectRefusedMove,
  makeDelivery,
  REASON,
  remind,
  reroute,
  STATES,
} from "./move-fixtures.ts";

export function moving(it: SceneTest): void {
  describe("moving a delivery", () => {
    it.for(STATES)("cancels a %s delivery [DLV-18]", async (state, { scene }) => {
      const { store, workspace } = scene;
      const before = await makeDelivery(scene, state);
      scene.clock.advance(7);
      const memory = scene.decision("cancel", [before]);
      const move = scene.moveOf(before, {
        to: "cancelled",
        event: "cancelled",
        ...attemptEnd(state),
      });
      const { deliveries } = await scene.move([move], { memory, agent: "cyd" });
      const after = expectSingle(deliveries);
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
      "takes %s work from its holder, ends the attempt and refuses late settlements [DLV-6 DLV-18]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const before = await makeDelivery(scene, state);
        const held = (await store.findDelivery(workspace, before.id)) as DeliveryWithEnvelopeRow;
        scene.clock.advance(7);
        const move = scene.moveOf(before, { to: "ready", event: "expired", ...attemptEnd(state) });
        const after = expectSingle((await scene.move([move])).deliveries);
        expect(after).toEqual({ ...before, state: "ready", leaseUntil: 0, holdUntil: 0 });
        expect(await store.readAttempts(workspace, before.id)).toEqual([
          {
            delivery: before.id,
            attempt: 1,
            holder: "ben",
            instance: "ben-1",
            endedAt: scene.now,
            outcome: "cancelled",
            reason: REASON,
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
      "counts an attempt of a %s delivery without a claim [DLV-2]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const before = await makeDelivery(scene, state);
        const attempt = before.attempt + 1;
        scene.clock.advance(7);
        const move = scene.moveOf(before, {
          to: "ready",
          event: "accept_timeout",
          ends: { outcome: "accept_timeout", reason: REASON },
        });
        const after = expectSingle((await scene.move([move])).deliveries);
        expect(after).toMatchObject({ state: "ready", attempt, fence: attempt });
        expect((await store.readAttempts(workspace, before.id)).at(-1)).toEqual({
          delivery: before.id,
          attempt,
          holder: "",
          instance: "",
          endedAt: scene.now,
          outcome: "accept_timeout",
          reason: REASON,
        });
        expect((await store.readEvents(workspace, 0, 100)).at(-1)).toMatchObject({
          kind: "accept_timeout",
          attempt,
        });
        expect((await scene.claimOne("ben")).delivery.attempt).toBe(attempt + 1);
      },
    );

    it("keeps every attempt of work that is dead-lettered without a claim [DLV-2 DLV-7]", async ({
      scene,
    }) => {
      let { delivery } = await scene.send({ attempts: 2 });
      const unaccepted = { outcome: "accept_timeout", reason: REASON } as const;
      const again = scene.moveOf(delivery, {
        to: "ready",
        event: "accept_timeout",
        ends: unaccepted,
      });
      delivery = expectSingle((await scene.move([again])).deliveries);
      const over = scene.moveOf(delivery, { to: "dead", event: "dead", ends: unaccepted });
      delivery = expectSingle((await scene.move([over])).deliveries);
      expect(delivery).toMatchObject({ state: "dead", attempt: 2, settledAt: scene.now });
      const attempts = await scene.store.readAttempts(scene.workspace, delivery.id);
      expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(await scene.history()).toEqual(["sent", "accept_timeout", "dead"]);
    });

    it("ends the attempt at the time the memory was stored [DLV-7]", async ({ scene }) => {
      const { store, workspace } = scene;
      const delivery = await makeDelivery(scene, "accepted");
      const early = scene.now;
      scene.clock.set(early - 1_000); // Times on a chain never go back.
      const memory = scene.decision("cancel", [delivery]);
      const move = scene.moveOf(delivery, {
        to: "cancelled",
        event: "cancelled",
        ...attemptEnd("accepted"),
      });
      const after = expectSingle((await scene.move([move], { memory })).deliveries);
      expect(after.settledAt).toBe(early);
      expect(await store.readAttempts(workspace, delivery.id)).toMatchObject([{ endedAt: early }]);
    });

    it("makes a scheduled delivery ready after its delay, and not before [DLV-7]", async ({
      scene,
    }) => {
      const before = await makeDelivery(scene, "claimed");
      const move = scene.moveOf(before, {
        to: "scheduled",
        event: "expired",
        delayMs: 250,
        ...attemptEnd("claimed"),
      });
      const after = expectSingle((await scene.move([move])).deliveries);
      expect(after).toMatchObject({ state: "scheduled", readyAt: scene.now + 250 });
      scene.clock.advance(249);
      expect((await scene.claim("ben")).claimed).toEqual([]);
      scene.clock.advance(1);
      expect((await scene.claimOne("ben")).delivery.id).toBe(before.id);
    });

    it("expires a delivery after its deadline [DLV-2]", async ({ scene }) => {
      const { delivery } = await scene.send({ deadline: scene.now + 500 });
      scene.clock.advance(500);
      const move = scene.moveOf(delivery, { to: "expired", event: "deadline_passed" });
      const after = expectSingle((await scene.move([move])).deliveries);
      expect(after).toEqual({ ...delivery, state: "expired", lapseAt: 0, settledAt: scene.now });
      expect((await scene.due()).due).toEqual([]);
      expect(await scene.totals()).toEqual({ expired: 1 });
    });

    it("sets the decision time, at most to the deadline [DLV-2]", async ({ scene }) => {
      const deadline = scene.now + 9_000;
      const { delivery } = await scene.send({ deadline, lapseMs: 100 });
      const moved = async (from: DeliveryRow, change: Partial<Move>) => {
        const move = scene.moveOf(from, { to: "ready", event: "accept_timeout", ...change });
        return expectSingle((await scene.move([move])).deliveries);
      };
      const unaccepted = { ends: { outcome: "accept_timeout", reason: REASON } } as const;
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

    it("changes the attempt limit, deadline and followers that are given [DLV-16]", async ({
      scene,
    }) => {
      const other = await scene.send({ task: "other" });
      const { delivery } = await scene.send({ deadline: scene.now + 9_000 });
      const move = scene.moveOf(delivery, {
        to: "ready",
        event: "postponed",
        maxAttempts: 9,
        deadline: 0,
        lapseMs: 0,
        followers: other.delivery.id,
      });
      const after = expectSingle((await scene.move([move])).deliveries);
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
      "changes only the given fields of a delivery that stays %s [DLV-16 DLV-17]",
      async (state, { scene }) => {
        const { store, workspace } = scene;
        const other = await scene.send({ task: "other" });
        const before = await makeDelivery(scene, state);
        const attempts = await store.readAttempts(workspace, before.id);
        scene.clock.advance(7);
        const followers = other.delivery.id;
        const move = scene.moveOf(before, { to: state, event: "reminded", followers });
        const after = expectSingle((await scene.move([move])).deliveries);
        expect(after).toEqual({ ...before, followers });
        expect(await scene.deliveryNow(before.id)).toEqual(after);
        expect(await store.readAttempts(workspace, before.id)).toEqual(attempts);
        expect((await scene.history()).at(-1)).toBe("reminded");
      },
    );

    it("keeps the lease of a holder when the state does not change [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      const move = scene.moveOf(held.delivery, { to: "accepted", event: "reminded", lapseMs: 500 });
      const after = expectSingle((await scene.move([move])).deliveries);
      expect(after).toEqual({ ...held.delivery, lapseAt: scene.now + 500 });
      await scene.settle(held, { kind: "completed" });
    });

    it("answers a question with a new envelope and another attempt [DLV-11]", async ({ scene }) => {
      const { store, workspace } = scene;
      const asked = await makeDelivery(scene, "waiting");
      scene.clock.advance(7);
      const { memory, envelope } = scene.rewriting("answer", asked);
      const move = scene.moveOf(asked, { to: "ready", event: "answered" });
      const after = expectSingle((await scene.move([move], { memory, envelope })).deliveries);
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

    it("redelivers held work with a reconstructed envelope [DLV-14]", async ({ scene }) => {
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

    it("returns `extended` to a holder whose envelope was replaced [ENV-11]", async ({ scene }) => {
      const held = await scene.underWay();
      const { memory, envelope } = scene.rewriting("answer", held.delivery);
      const move = scene.moveOf(held.delivery, { to: "accepted", event: "answered" });
      await scene.move([move], { memory, envelope });
      const operation = scene.settlement(held, { kind: "completed" });
      const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
      expect(outcome).toMatchObject({ kind: "extended", envelope: { id: envelope.id } });
    });
  });

  describe("wake-ups after a move", () => {
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
        "the holder that lost the work",
        "ben",
        async (scene) => {
          const { delivery } = await scene.underWay();
          return () => reroute(scene, delivery, "cyd");
        },
      ],
      [
        "the holder of role work",
        "cyd",
        async (scene) => {
          await scene.register("cyd", { role: "coder" });
          await scene.send({ to: "role:coder" });
          const { delivery } = await scene.acceptOne("cyd");
          return () => remind(scene, delivery);
        },
      ],
    ])(
      "calls the listener of %s (%s) after the commit [DLV-13 DLV-18]",
      async ([_case, agent, prepare], { scene }) => {
        const act = await prepare(scene);
        await turn();
        const calls = countWakes(scene, agent);
        await act();
        await turn();
        expect(calls.count).toBeGreaterThan(0);
      },
    );

    it("calls no listener after a refusal, and none of agents that are not involved [DLV-13]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      await turn();
      const [ada, ben, cyd] = ["ada", "ben", "cyd"].map((agent) => countWakes(scene, agent));
      const move = scene.moveOf(delivery, { to: "ready", event: "reminded" });
      const stale = { ...move, seen: { ...move.seen, fence: 1 } };
      await expectRefusedMove(scene, scene.moving([stale]));
      await turn();
      expect([ada?.count, ben?.count, cyd?.count]).toEqual([0, 0, 0]);
      await scene.move([move]);
      await turn();
      expect(cyd?.count).toBe(0);
      expect(ben?.count).toBeGreaterThan(0);
    });
  });
}

export function countWakes({ store, workspace }: Scene, agent: string) {
  const calls = { count: 0 };
  store.onWake({ workspace, agent }, () => {
    calls.count++;
  });
  return calls;
}
