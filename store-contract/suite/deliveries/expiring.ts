/**
 * Time passing: holders that fall silent are noticed by whoever asks what is due, and their work is
 * moved on; retries come due by themselves. No daemon is needed.
 */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { FAILED, failedWithDelay, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** More than a store may look at in one go. */
const MANY = 150;

export function expiring(it: SceneTest): void {
  describe("leases that run out", () => {
    it.for<[string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>]>([
      ["claimed", (scene: Scene) => scene.claimOne("ben")],
      ["accepted", (scene: Scene) => scene.acceptOne("ben")],
    ])(
      "work that was %s goes to the next as another try [DLV-6]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        scene.clock.set(held.delivery.leaseUntil - 1);
        expect((await scene.due()).due).toEqual([]);
        scene.clock.advance(1);
        await scene.takeBack();
        const { delivery } = await scene.claimOne("ben", { instance: "ben-2" });
        expect(delivery).toMatchObject({
          id: held.delivery.id,
          state: "claimed",
          attempt: 2,
          fence: held.delivery.fence + 1,
          instance: "ben-2",
          leaseUntil: scene.now + LEASE_MS,
        });
        expect(await scene.store.readAttempts(scene.workspace, delivery.id)).toEqual([
          {
            delivery: delivery.id,
            attempt: 1,
            holder: "ben",
            instance: "ben-1",
            endedAt: scene.now,
            outcome: "expired",
            reason: "",
          },
        ]);
        expect((await scene.history()).slice(-2)).toEqual(["expired", "claimed"]);
      },
    );

    it("nobody else gets it before it was moved, however late it is [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      scene.clock.advance(10 * LEASE_MS);
      expect((await scene.claim("ben", { limit: 5 })).claimed).toEqual([]);
      expect(await scene.deliveryNow(held.delivery.id)).toEqual(held.delivery);
    });

    it("the silent holder's late answers are refused, each of them [DLV-6]", async ({ scene }) => {
      const { store, workspace } = scene;
      const held = await scene.underWay();
      scene.clock.set(held.delivery.leaseUntil);
      await scene.takeBack();
      const next = await scene.acceptOne("ben", { instance: "ben-2" });
      const lease = scene.lease(held);
      const late = await scene.unchanged(() =>
        Promise.all([
          store.renewLease(workspace, lease),
          scene.append(scene.record("ben"), { lease }),
          store.settleDelivery(scene.settlement(held, { kind: "completed" })),
          store.settleDelivery(scene.settlement(held, RELEASED)),
          store.sendHandoff(scene.handoff({ from: "ben", to: "cyd", settles: held })),
        ]),
      );
      expect(late.map((outcome) => outcome.kind)).toEqual(late.map(() => "lease_lost"));
      await scene.settle(next, { kind: "completed" });
    });

    it("before anybody notices, the late answer is refused all the same [DLV-6]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.set(held.delivery.leaseUntil);
      const operation = scene.settlement(held, { kind: "completed" });
      expect(await scene.store.settleDelivery(operation)).toEqual({
        kind: "lease_lost",
        delivery: held.delivery,
      });
    });

    it("of many who notice at once, one takes it back [DLV-6]", async ({ scene }) => {
      const { delivery } = await scene.underWay();
      scene.clock.advance(LEASE_MS);
      const move = scene.moveOf(delivery, {
        to: "ready",
        event: "expired",
        ends: { outcome: "expired", reason: "" },
      });
      const outcomes = await Promise.all(
        [1, 2, 3].map(() => scene.store.moveDeliveries(scene.moving([move]))),
      );
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["changed", "changed", "moved"]);
      expect(await scene.store.readAttempts(scene.workspace, delivery.id)).toHaveLength(1);
    });

    it("after the last try the work is parked, with every attempt [DLV-7]", async ({ scene }) => {
      const { delivery } = await scene.send({ attempts: 2 });
      for (let i = 0; i < 2; i++) {
        await scene.acceptOne("ben");
        scene.clock.advance(LEASE_MS);
        await scene.takeBack();
      }
      expect((await scene.claim("ben")).claimed).toEqual([]);
      expect(await scene.deliveryNow(delivery.id)).toMatchObject({
        state: "dead",
        attempt: 2,
        leaseUntil: 0,
        holdUntil: 0,
        settledAt: scene.now,
      });
      const tries = await scene.store.readAttempts(scene.workspace, delivery.id);
      expect(tries.map((each) => [each.attempt, each.outcome])).toEqual([
        [1, "expired"],
        [2, "expired"],
      ]);
      expect((await scene.history()).at(-1)).toBe("dead");
    });

    it("work comes back to its old place in the inbox [DLV-13]", async ({ scene }) => {
      await scene.send({ task: "first" });
      await scene.claimOne("ben");
      await scene.send({ task: "second" });
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
      const { claimed } = await scene.claim("ben", { limit: 5 });
      expect(claimed.map(({ delivery }) => delivery.task)).toEqual(["first", "second"]);
    });

    it("however many run out at once, all of them come back, also in one step [DLV-6]", async ({
      scene,
    }) => {
      for (let i = 0; i < MANY; i++) await scene.send({ task: `task ${i}` });
      expect((await scene.claim("ben", { limit: MANY })).claimed).toHaveLength(MANY);
      scene.clock.advance(LEASE_MS);
      const { due } = await scene.due();
      await scene.move(
        due.map(({ delivery }) =>
          scene.moveOf(delivery, {
            to: "ready",
            event: "expired",
            ends: { outcome: "expired", reason: "" },
          }),
        ),
      );
      const { claimed } = await scene.claim("ben", { limit: MANY });
      expect(claimed.map(({ delivery }) => delivery.attempt)).toEqual(claimed.map(() => 2));
      expect(await scene.books()).toEqual({ claimed: MANY });
    });

    it("a lease still runs after reopening, and runs out [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.reopen();
      expectOutcome(await scene.store.renewLease(scene.workspace, scene.lease(held)), "renewed");
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
      expect((await scene.claimOne("ben")).delivery.attempt).toBe(2);
    });
  });

  describe("retries", () => {
    it("what failed is offered again when its time has come, not before [DLV-7]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.settle(held, failedWithDelay(250));
      scene.clock.advance(249);
      expect((await scene.claim("ben")).claimed).toEqual([]);
      expect((await scene.deliveryNow(held.delivery.id)).state).toBe("scheduled");
      scene.clock.advance(1);
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ id: held.delivery.id, attempt: 2, fence: 2 });
    });

    it("what failed without a delay is offered at once [DLV-7]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.settle(held, FAILED);
      expect((await scene.claimOne("ben")).delivery.attempt).toBe(2);
    });

    it("whoever claims makes them ready for everybody in the workspace, and for nobody else's [DLV-7]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      const where = { workspace: "elsewhere" };
      const there = await scene.send({ where, state: "scheduled", delayMs: 250 });
      const here = await scene.underWay();
      await scene.settle(here, failedWithDelay(250));
      scene.clock.advance(250);
      await scene.claim("cyd");
      expect((await scene.deliveryNow(here.delivery.id)).state).toBe("ready");
      expect(await scene.deliveryNow(there.delivery.id, "elsewhere")).toEqual(there.delivery);
    });

    it("a retry goes to the next session with the attempts before it on record [DLV-7]", async ({
      scene,
    }) => {
      const first = await scene.underWay();
      await scene.settle(first, FAILED, '{"n":1}');
      const second = await scene.acceptOne("ben", { instance: "ben-2" });
      await scene.settle(second, RELEASED);
      const { id } = expectSingle((await scene.claim("ben")).claimed).delivery;
      const tries = await scene.store.readAttempts(scene.workspace, id);
      expect(tries).toMatchObject([
        { attempt: 1, instance: "ben-1", outcome: "failed", reason: '{"n":1}' },
        { attempt: 2, instance: "ben-2", outcome: "released", reason: "" },
      ]);
    });
  });
}
