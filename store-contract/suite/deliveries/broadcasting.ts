/**
 * Tests of handoffs to several receivers: one memory and one envelope, and a separate delivery for
 * each receiver.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { SendHandoff } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { failedWithDelay } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** The maximum number of subscribers of a channel. */
const MANY = 1_000;
const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";

/** Handoffs that are refused, with the expected outcome. */
const REFUSED: readonly [string, object, (scene: Scene) => Promise<SendHandoff>][] = [
  [
    "with an unknown receiver",
    { kind: "unknown_receiver", receiver: "nobody" },
    async (scene) => scene.publication(["ben", "nobody", "cyd"]),
  ],
  [
    "with a disabled receiver",
    { kind: "receiver_disabled", receiver: "cyd" },
    async (scene) => {
      await scene.register("cyd", { status: "disabled" });
      return scene.publication(["ben", "cyd"]);
    },
  ],
  [
    "to a role without agents",
    { kind: "unknown_receiver", receiver: "role:tester" },
    async (scene) => scene.publication(["ben", "role:tester"]),
  ],
  [
    "with two invalid receivers (reports the first)",
    { kind: "unknown_receiver", receiver: "nobody" },
    async (scene) => {
      await scene.register("cyd", { status: "disabled" });
      return scene.publication(["ben", "nobody", "cyd"]);
    },
  ],
  [
    "with a delivery id that is taken",
    { kind: "id_taken" },
    async (scene) => {
      const { delivery } = await scene.send({ task: "other" });
      return scene.publication(["ben", ["cyd", { id: delivery.id }]]);
    },
  ],
  [
    "whose parent does not exist",
    { kind: "missing_parent", envelope: NO_ENVELOPE },
    async (scene) => {
      const handoff = scene.publication(["ben", "cyd"]);
      return { ...handoff, envelope: { ...handoff.envelope, parents: [NO_ENVELOPE] } };
    },
  ],
  [
    "whose idempotency key was used",
    { kind: "entry_changed", entry: { value: "1" } },
    async (scene) => {
      await scene.put("key", "k", "1");
      const entry = { kind: "key", name: "k", value: "2", basedOn: 0 };
      return scene.publication(["ben", "cyd"], { entries: [entry] });
    },
  ],
];

export function broadcasting(it: SceneTest): void {
  describe("handing off to several receivers", () => {
    it("creates one delivery of the envelope per receiver, in the given order [DLV-3]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const handoff = scene.publication(["cyd", "ada", "ben"]);
      const sent = expectOutcome(await store.sendHandoff(handoff), "sent");
      const receivers = sent.deliveries.map(({ id, receiver }) => [id, receiver]);
      expect(receivers).toEqual(handoff.deliveries.map(({ id, receiver }) => [id, receiver]));
      for (const delivery of sent.deliveries) {
        expect(delivery).toMatchObject({ state: "ready", inTurn: true, attempt: 0, sender: "ada" });
        expect(delivery.envelope).toBe(handoff.envelope.id);
        expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
      }
      expect(sent.superseded).toBe("");
      expect(await scene.everything()).toHaveLength(1);
      const [line] = await store.readLine(workspace, "task");
      expect(line?.deliveries).toHaveLength(3);
      expect(await store.countDeliveries(workspace)).toMatchObject({ envelopes: 1, deliveries: 3 });
      const events = await store.readEvents(workspace, 0, 10);
      expect(events.map(({ kind, delivery }) => [kind, delivery])).toEqual(
        sent.deliveries.map(({ id }) => ["sent", id]),
      );
    });

    it("tracks the state of each delivery separately [DLV-3]", async ({ scene }) => {
      await scene.register("dot");
      const { deliveries } = await scene.publish(["ada", "ben", "cyd", "dot"]);
      await scene.settle(await scene.acceptOne("ben"), { kind: "completed" });
      await scene.settle(await scene.acceptOne("cyd"), failedWithDelay(500));
      await scene.claimOne("dot");
      const states = await Promise.all(
        deliveries.map(async ({ id }) => (await scene.deliveryNow(id)).state),
      );
      expect(states).toEqual(["ready", "completed", "scheduled", "claimed"]);
      scene.clock.advance(500);
      expect((await scene.claimOne("cyd")).delivery.attempt).toBe(2);
    });

    it("accepts a separate state, delay and attempt limit for each delivery [DLV-3]", async ({
      scene,
    }) => {
      const { deliveries } = await scene.publish([
        ["ada", { maxAttempts: 7 }],
        ["ben", { state: "scheduled", delayMs: 400, lapseMs: 900 }],
        ["cyd", { state: "dead", reason: '{"reason":"breaker"}' }],
      ]);
      const [ada, ben, cyd] = deliveries;
      expect(ada).toMatchObject({ state: "ready", maxAttempts: 7, lapseAt: 0 });
      const now = scene.now;
      expect(ben).toMatchObject({ state: "scheduled", readyAt: now + 400, lapseAt: now + 900 });
      expect(cyd).toMatchObject({ state: "dead", attempt: 1, settledAt: now });
      expect(await scene.history()).toEqual(["sent", "sent", "dead"]);
      expect(await scene.store.readAttempts(scene.workspace, cyd?.id ?? "")).toMatchObject([
        { attempt: 1, holder: "", outcome: "stopped", reason: '{"reason":"breaker"}' },
      ]);
    });

    it.for(REFUSED)(
      "refuses a handoff %s as a whole [DLV-1 DLV-3]",
      async ([_case, refusal, make], { scene }) => {
        const handoff = await make(scene);
        const outcome = await scene.unchanged(() => scene.store.sendHandoff(handoff));
        expect(outcome).toMatchObject(refusal);
      },
    );

    it("adds new work behind open work of the task instead of extending it [DLV-3 DLV-13]", async ({
      scene,
    }) => {
      const open = await scene.send();
      const { deliveries } = await scene.publish(["ben", "cyd"]);
      expect(deliveries.map(({ inTurn }) => inTurn)).toEqual([false, true]);
      const again = await scene.publish(["ben", "cyd"]);
      expect(again).toMatchObject({ superseded: "" });
      expect(again.deliveries.map(({ inTurn }) => inTurn)).toEqual([false, false]);
      expect(await scene.totals()).toEqual({ ready: 5 });
      expect((await scene.claimOne("ben", { limit: 9 })).delivery.id).toBe(open.delivery.id);
    });

    it("does not check circuit breakers [DLV-3 DLV-8]", async ({ scene }) => {
      await scene.put("breaker", "ben", "1");
      await scene.publish(["ben", "cyd"], { breaker: 7 });
      expect(await scene.totals()).toEqual({ ready: 2 });
    });

    it("completes the sender's own work in the same operation [DLV-1 DLV-3]", async ({ scene }) => {
      const held = await scene.underWay();
      const sent = await scene.publish(["ada", "cyd"], { from: "ben", settles: held });
      expect(await scene.deliveryNow(held.delivery.id)).toMatchObject({
        state: "completed",
        settledBy: sent.place.id,
      });
      expect(await scene.totals()).toEqual({ completed: 1, ready: 2 });
    });

    it("wakes the receivers and no other agent [DLV-3 DLV-13]", async ({ scene }) => {
      const { store, workspace } = scene;
      await scene.register("dot", { role: "tester" });
      const calls: string[] = [];
      for (const agent of ["ada", "ben", "cyd", "dot", "role:tester"]) {
        store.onWake({ workspace, agent }, () => calls.push(agent));
      }
      await scene.publish(["ben", "cyd", "role:tester"]);
      await turn();
      expect(new Set(calls)).toEqual(new Set(["ben", "cyd", "role:tester"]));
    });

    it("delivers to 1,000 receivers in one operation [DLV-3]", { timeout: 60_000 }, async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const names = Array.from({ length: MANY }, (_, i) => `agent-${i}`);
      await Promise.all(names.map((name) => scene.register(name)));
      const { deliveries } = await scene.publish(names);
      expect(deliveries.map(({ receiver }) => receiver)).toEqual(names);
      expect(await store.countDeliveries(workspace)).toMatchObject({
        envelopes: 1,
        deliveries: MANY,
        byState: { ready: MANY },
      });
      for (const name of ["agent-0", "agent-500", "agent-999"]) {
        await scene.settle(await scene.acceptOne(name), { kind: "completed" });
      }
      expect(await scene.totals()).toEqual({ completed: 3, ready: MANY - 3 });
      expect(expectSingle(await store.readLine(workspace, "task")).deliveries).toHaveLength(MANY);
    });
  });
}
