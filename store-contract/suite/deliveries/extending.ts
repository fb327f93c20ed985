/** Tests of handing over the same work again: the open work is extended, not duplicated. */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { failedWithDelay, type HandoffInput, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** The two ways to hold work. */
const HELD: readonly [string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>][] = [
  ["claimed", (scene) => scene.claimOne("ben")],
  ["accepted", (scene) => scene.acceptOne("ben")],
];

export function extending(it: SceneTest): void {
  describe("extending open work", () => {
    it("replaces work that was not claimed and keeps its place [ENV-11]", async ({ scene }) => {
      const first = await scene.send();
      await scene.send({ task: "later" });
      scene.clock.advance(5);
      const again = await scene.send({ extend: scene.extending(first) });
      expect(again.superseded).toBe(first.delivery.id);
      expect(again.delivery).toMatchObject({ state: "ready", place: first.delivery.place });
      expect(await scene.deliveryNow(first.delivery.id)).toEqual({
        ...first.delivery,
        state: "superseded",
        settledAt: scene.now,
      });
      expect(await scene.history()).toEqual(["sent", "sent", "superseded", "sent"]);
      const { claimed } = await scene.claim("ben", { limit: 10 });
      expect(claimed.map(({ delivery }) => delivery.task)).toEqual(["task", "later"]);
      expect(claimed[0]?.envelope.id).toBe(again.delivery.envelope);
    });

    it("replaces work that waits for a retry and makes it ready [ENV-11]", async ({ scene }) => {
      const held = await scene.underWay();
      const failed = await scene.settle(held, failedWithDelay(1_000));
      const again = await scene.send({ extend: scene.extending(failed) });
      expect(again).toMatchObject({ superseded: held.delivery.id, delivery: { state: "ready" } });
      expect(await scene.totals()).toEqual({ ready: 1, superseded: 1 });
    });

    it.for(HELD)(
      "applies the deadline of the new envelope to %s work [ENV-11]",
      async ([state, hold], { scene }) => {
        await scene.send({ deadline: scene.now + 5_000 });
        const first = await hold(scene);
        const sooner = { deadline: scene.now + 2_000, lapseMs: 700 };
        const again = await scene.send({ extend: scene.extending(first), ...sooner });
        const lapseAt = state === "claimed" ? scene.now + 700 : sooner.deadline;
        expect(again.delivery).toMatchObject({ deadline: sooner.deadline, lapseAt });
        const lifted = await scene.send({ extend: scene.extending(again) });
        expect(lifted.delivery).toMatchObject({ deadline: 0, lapseAt: 0 });
        expect(await scene.deliveryNow(first.delivery.id)).toEqual(lifted.delivery);
      },
    );

    it.for(HELD)(
      "moves the delivery of %s work to the new envelope [ENV-11]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        scene.clock.advance(5);
        const again = await scene.send({ extend: scene.extending(held) });
        const line = await scene.store.readLine(scene.workspace, "task");
        expect(line.map(({ deliveries }) => deliveries.length)).toEqual([0, 1]);
        const envelope = line[1]?.envelope.id;
        expect(again.delivery).toEqual({ ...held.delivery, envelope });
        expect(again.superseded).toBe("");
        expect(await scene.deliveryNow(held.delivery.id)).toEqual(again.delivery);
        expect((await scene.history()).at(-1)).toBe("extended");
        expect(await scene.store.countDeliveries(scene.workspace)).toMatchObject({
          envelopes: 2,
          deliveries: 1,
        });
      },
    );

    it.for(HELD)(
      "returns `extended` when %s work is settled against the old envelope [ENV-11]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        await scene.send({ extend: scene.extending(held) });
        const operation = scene.settlement(held, { kind: "declined" });
        const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
        const { envelope } = expectOutcome(outcome, "extended");
        expect(envelope).toEqual(
          (await scene.store.findDelivery(scene.workspace, held.delivery.id))?.envelope,
        );
        await scene.settle({ ...held, envelope }, { kind: "declined" });
      },
    );

    it("returns `extended` for the old envelope of an offer, then accepts the new one [ENV-11]", async ({
      scene,
    }) => {
      const { store, workspace, branch } = scene;
      await scene.send();
      const claimed = await scene.claimOne("ben");
      await scene.send({ extend: scene.extending(claimed) });
      const accept = (known: DeliveryWithEnvelopeRow) =>
        store.acceptDelivery({
          workspace,
          branch,
          lease: scene.lease(known),
          memory: scene.continuing(known),
        });
      const { envelope } = expectOutcome(await scene.unchanged(() => accept(claimed)), "extended");
      expectOutcome(await accept({ ...claimed, envelope }), "accepted");
    });

    it("accepts notes and renewals under the old envelope and returns the new one [ENV-11]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      const again = await scene.send({ extend: scene.extending(held) });
      const lease = scene.lease(held);
      const noted = await scene.append(scene.record("ben", "a step"), { lease });
      expect(expectOutcome(noted, "appended").envelope).toBe(again.delivery.envelope);
      const renewed = await scene.store.renewLease(scene.workspace, lease);
      expect(expectOutcome(renewed, "renewed").delivery.envelope).toBe(again.delivery.envelope);
    });

    it("extends the same work repeatedly, before and after it is accepted [ENV-11]", async ({
      scene,
    }) => {
      let last = await scene.send();
      for (let i = 0; i < 3; i++) last = await scene.send({ extend: scene.extending(last) });
      let held: Pick<typeof last, "delivery"> = await scene.acceptOne("ben");
      for (let i = 0; i < 3; i++) held = await scene.send({ extend: scene.extending(held) });
      expect(await scene.totals()).toEqual({ superseded: 3, accepted: 1 });
      const line = await scene.store.readLine(scene.workspace, "task");
      expect(line).toHaveLength(7);
      expect(await scene.store.readLine(scene.workspace, "task", 3)).toEqual(line.slice(-3));
      expect(await scene.store.readLine(scene.workspace, "task", 9)).toEqual(line);
    });

    it.for<[string, HandoffInput]>([
      ["sender", { from: "cyd" }],
      ["receiver", { to: "cyd" }],
      ["task", { task: "other" }],
    ])(
      "treats a handoff with another %s as new work [ENV-11]",
      async ([_case, change], { scene }) => {
        const first = await scene.send();
        const second = await scene.send(change);
        expect(second.superseded).toBe("");
        expect(await scene.deliveryNow(first.delivery.id)).toEqual(first.delivery);
        expect(await scene.totals()).toEqual({ ready: 2 });
      },
    );

    it("treats a handoff with another parent as new work, with the same one as an extension [ENV-11]", async ({
      scene,
    }) => {
      const origin = await scene.send({ to: "cyd", task: "origin" });
      const parents = [origin.delivery.envelope];
      await scene.send();
      const second = await scene.send({ parents });
      expect(await scene.totals()).toEqual({ ready: 3 });
      await scene.send({ parents, extend: scene.extending(second) });
      expect(await scene.totals()).toEqual({ ready: 3, superseded: 1 });
    });

    it("treats the same handoff in another workspace as new work [ENV-11]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      await scene.send();
      await scene.send({ where: { workspace: "elsewhere" } });
      expect(await scene.totals("elsewhere")).toEqual({ ready: 1 });
    });

    it("treats a handoff after the settlement as new work [ENV-11]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.settle(held, { kind: "completed" });
      const again = await scene.send();
      expect(again.delivery).toMatchObject({ state: "ready", attempt: 0 });
      expect(await scene.totals()).toEqual({ completed: 1, ready: 1 });
    });

    it("does not extend the work that the same handoff completes [ENV-11]", async ({ scene }) => {
      const origin = await scene.send({ to: "cyd", task: "origin" });
      const parents = [origin.delivery.envelope];
      const held = await scene.underWay({ from: "ben", to: "ben", parents });
      const handoff = scene.handoff({ from: "ben", to: "ben", settles: held, parents });
      expectOutcome(await scene.store.sendHandoff(handoff), "sent");
      expect(await scene.totals()).toEqual({ completed: 1, ready: 2 });
      const { envelope } = await scene.claimOne("ben");
      expect(envelope.id).toBe(handoff.envelope.id);
    });

    it("refuses a handoff that does not name the open work, and returns that work [ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const outcome = await scene.store.sendHandoff(scene.handoff());
      expect(outcome).toEqual({
        kind: "changed",
        open: { delivery: first.delivery, memory: first.place.id },
      });
    });

    it("refuses to extend an older envelope, and returns the newest [ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.underWay();
      const second = await scene.send({ extend: scene.extending(first) });
      const outcome = await scene.store.sendHandoff(
        scene.handoff({ extend: scene.extending(first) }),
      );
      expect(outcome).toEqual({
        kind: "changed",
        open: { delivery: second.delivery, memory: second.place.id },
      });
    });

    it("refuses to extend work that was claimed or released in the meantime [ENV-11]", async ({
      scene,
    }) => {
      const { store } = scene;
      const ready = await scene.send();
      const held = await scene.claimOne("ben");
      const early = scene.handoff({ extend: scene.extending(ready) });
      const claimed = await scene.unchanged(() => store.sendHandoff(early));
      expect(expectOutcome(claimed, "changed").open?.delivery).toEqual(held.delivery);
      const back = await scene.settle(held, RELEASED);
      const late = scene.handoff({ extend: scene.extending(held) });
      const returned = await scene.unchanged(() => store.sendHandoff(late));
      expect(expectOutcome(returned, "changed").open?.delivery).toEqual(back.delivery);
    });

    it("refuses to extend work that has ended [ENV-11]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.settle(held, { kind: "completed" });
      const handoff = scene.handoff({ extend: scene.extending(held) });
      expect(await scene.store.sendHandoff(handoff)).toEqual({ kind: "changed", open: undefined });
    });

    it("sends one of two concurrent handoffs of the same work and refuses the other [ENV-11]", async ({
      scene,
    }) => {
      const outcomes = await Promise.all(
        [1, 2].map(() => scene.store.sendHandoff(scene.handoff())),
      );
      expect(outcomes.map((outcome) => outcome.kind)).toEqual(["sent", "changed"]);
      expect(expectSingle((await scene.claim("ben", { limit: 10 })).claimed)).toBeDefined();
    });
  });
}
