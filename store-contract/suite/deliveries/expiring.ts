/**
 * Tests of expired leases and retries. Any caller of `listDue()` detects a holder that stopped
 * responding and moves its work on; retries become ready with the next claim. No daemon is needed.
 */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { FAILED, failedWithDelay, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** More deliveries than a store may read at a time. */
const MANY = 150;

export function expiring(it: SceneTest): void {
  describe("expired leases", () => {
    it.for<[string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>]>([
      ["claimed", (scene: Scene) => scene.claimOne("ben")],
      ["accepted", (scene: Scene) => scene.acceptOne("ben")],
    ])(
      "redelivers work that was %s as a new attempt [DLV-6]",
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

    it("does not redeliver work before it is moved, however late it is [DLV-6]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.advance(10 * LEASE_MS);
      expect((await scene.claim("ben", { limit: 5 })).claimed).toEqual([]);
      expect(await scene.deliveryNow(held.delivery.id)).toEqual(held.delivery);
    });

    it("refuses every late call of the previous holder [DLV-6]", async ({ scene }) => {
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

    it("refuses a late settlement even before the expiry is detected [DLV-6]", async ({
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

    it("moves expired work once when several callers detect it concurrently [DLV-6]", async ({
      scene,
    }) => {
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

    it("keeps every attempt of work that is dead-lettered after the last one [DLV-7]", async ({
      scene,
    }) => {
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
      const attempts = await scene.store.readAttempts(scene.workspace, delivery.id);
      expect(attempts.map((each) => [each.attempt, each.outcome])).toEqual([
        [1, "expired"],
        [2, "expired"],
      ]);
      expect((await scene.history()).at(-1)).toBe("dead");
    });

    it("returns work to its old place in the inbox [DLV-13]", async ({ scene }) => {
      await scene.send({ task: "first" });
      await scene.claimOne("ben");
      await scene.send({ task: "second" });
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
      const { claimed } = await scene.claim("ben", { limit: 5 });
      expect(claimed.map(({ delivery }) => delivery.task)).toEqual(["first", "second"]);
    });

    it("redelivers 150 expired deliveries that are moved in one operation [DLV-6]", async ({
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
      expect(await scene.totals()).toEqual({ claimed: MANY });
    });

    it("renews a lease after reopening and lets it expire [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.reopen();
      expectOutcome(await scene.store.renewLease(scene.workspace, scene.lease(held)), "renewed");
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
      expect((await scene.claimOne("ben")).delivery.attempt).toBe(2);
    });
  });

  describe("retries", () => {
    it("offers failed work again after its delay, and not before [DLV-7]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.settle(held, failedWithDelay(250));
      scene.clock.advance(249);
      expect((await scene.claim("ben")).claimed).toEqual([]);
      expect((await scene.deliveryNow(held.delivery.id)).state).toBe("scheduled");
      scene.clock.advance(1);
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ id: held.delivery.id, attempt: 2, fence: 2 });
    });

    it("offers failed work at once if it has no delay [DLV-7]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.settle(held, FAILED);
      expect((await scene.claimOne("ben")).delivery.attempt).toBe(2);
    });

    it("makes the retries of the whole workspace ready with any claim, but of no other [DLV-7]", async ({
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

    it("keeps the earlier attempts of a retry with their session and reason [DLV-7]", async ({
      scene,
    }) => {
      const first = await scene.underWay();
      await scene.settle(first, FAILED, '{"n":1}');
      const second = await scene.acceptOne("ben", { instance: "ben-2" });
      await scene.settle(second, RELEASED);
      const { id } = expectSingle((await scene.claim("ben")).claimed).delivery;
      const attempts = await scene.store.readAttempts(scene.workspace, id);
      expect(attempts).toMatchObject([
        { attempt: 1, instance: "ben-1", outcome: "failed", reason: '{"n":1}' },
        { attempt: 2, instance: "ben-2", outcome: "released", reason: "" },
      ]);
    });
  });
}
