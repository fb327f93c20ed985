/**
 * Tests of circuit breakers: a handoff is refused if the receiver's breaker has changed since the
 * sender read it.
 */
import { describe, expect } from "vitest";
import { BREAKER } from "../../../src/store/rows.ts";
import {
  type DeliveryWithEnvelopeRow,
  IGNORE_BREAKER,
  type Settlement,
} from "../../../src/store/store.ts";
import { FAILED, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** The settlements that do not close a breaker. */
const NON_CLOSING_SETTLEMENTS: readonly Settlement[] = [
  { kind: "declined" },
  { kind: "asked" },
  { kind: "failed", becomes: "dead" },
  FAILED,
  RELEASED,
];

export function breakers(it: SceneTest): void {
  describe("circuit breakers", () => {
    it("refuses a handoff that expects no breaker once there is one [DLV-8]", async ({ scene }) => {
      await scene.send();
      await scene.put(BREAKER, "ben", '{"n":1}');
      const outcome = await expectRefusedSend(scene, { task: "other" });
      expect(outcome).toEqual({ kind: "breaker_changed", entry: await findBreaker(scene) });
      expect(await findBreaker(scene)).toMatchObject({ revision: 1, value: '{"n":1}' });
    });

    it("accepts a handoff only with the current revision of the breaker [DLV-8]", async ({
      scene,
    }) => {
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "ben", "2");
      for (const known of [0, 1, 3]) {
        const outcome = await expectRefusedSend(scene, { breaker: known });
        expect(outcome).toMatchObject({ kind: "breaker_changed", entry: { revision: 2 } });
      }
      await scene.send({ breaker: 2 });
    });

    it("refuses a handoff that expects a breaker that was deleted [DLV-8]", async ({ scene }) => {
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "ben", undefined);
      const outcome = await expectRefusedSend(scene, { breaker: 1 });
      expect(outcome).toEqual({ kind: "breaker_changed", entry: undefined });
    });

    it("ignores breakers of other agents and workspaces, and entries of other kinds [DLV-8]", async ({
      scene,
    }) => {
      await scene.put(BREAKER, "cyd", "1");
      await scene.put(BREAKER, "ada", "1");
      await scene.put("key", "ben", "1");
      const there = { kind: BREAKER, name: "ben", value: "1", basedOn: 0 };
      await scene.store.putEntry("elsewhere", there);
      await scene.send();
    });

    it("sends regardless of the breaker with IGNORE_BREAKER [DLV-3 DLV-8]", async ({ scene }) => {
      await scene.send({ breaker: IGNORE_BREAKER });
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ task: "other", breaker: IGNORE_BREAKER });
      expect(await findBreaker(scene)).toMatchObject({ revision: 1 });
    });

    it("checks the role's own breaker for a handoff to a role [DLV-5 DLV-8]", async ({ scene }) => {
      await scene.register("ben", { role: "coder" });
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ to: "role:coder" });
      await scene.put(BREAKER, "role:coder", "1");
      const outcome = await expectRefusedSend(scene, { to: "role:coder", task: "other" });
      expect(outcome).toMatchObject({ kind: "breaker_changed", entry: { name: "role:coder" } });
    });

    it("does not check the breaker when a handoff extends ready or claimed work [DLV-8 ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send();
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ extend: scene.extending(first) });
      const held = await scene.claimOne("ben");
      await scene.send({ extend: scene.extending(held), breaker: 9 });
      expect(await scene.totals()).toEqual({ superseded: 1, claimed: 1 });
    });

    it("reports open work, an unknown receiver or a changed entry before the breaker [DLV-8]", async ({
      scene,
    }) => {
      await scene.send();
      await scene.put(BREAKER, "ben", "1");
      expect(await expectRefusedSend(scene, {})).toMatchObject({ kind: "changed" });
      expect(await expectRefusedSend(scene, { task: "other", to: "nobody" })).toMatchObject({
        kind: "unknown_receiver",
      });
      const entry = { kind: "key", name: "k", value: "1", basedOn: 1 };
      expect(await expectRefusedSend(scene, { task: "other", entries: [entry] })).toMatchObject({
        kind: "entry_changed",
      });
    });

    it("closes the breaker of the receiver that completes work, and no other [DLV-8]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "cyd", "1");
      await scene.settle(held, { kind: "completed" });
      expect(await findBreaker(scene)).toBeUndefined();
      expect(await findBreaker(scene, "cyd")).toMatchObject({ value: "1" });
      await scene.send();
    });

    it("closes the breaker of an agent that hands its work on [DLV-8]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "cyd", "1");
      await scene.send({ from: "ben", to: "cyd", settles: held, breaker: 1 });
      expect(await findBreaker(scene)).toBeUndefined();
      expect(await findBreaker(scene, "cyd")).toMatchObject({ value: "1" });
    });

    it("checks the breaker of an agent that hands on to itself before closing it [DLV-8]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      const early = await expectRefusedSend(scene, { from: "ben", to: "ben", settles: held });
      expect(early).toMatchObject({ kind: "breaker_changed" });
      await scene.send({ from: "ben", to: "ben", settles: held, breaker: 1 });
      expect(await findBreaker(scene)).toBeUndefined();
    });

    it("closes the breaker of the role, not of the holder, when role work is completed [DLV-5 DLV-8]", async ({
      scene,
    }) => {
      await scene.register("ben", { role: "coder" });
      await scene.send({ to: "role:coder" });
      const held = await scene.acceptOne("ben");
      for (const name of ["ben", "role:coder"]) await scene.put(BREAKER, name, "1");
      await scene.settle(held, { kind: "completed" });
      expect(await findBreaker(scene, "role:coder")).toBeUndefined();
      expect(await findBreaker(scene)).toMatchObject({ value: "1" });
    });

    it.for(NON_CLOSING_SETTLEMENTS.map((settlement) => ({ settlement })))(
      "keeps the breaker when work is $settlement.kind [DLV-8]",
      async ({ settlement }, { scene }) => {
        const held = await scene.underWay();
        const open = await scene.put(BREAKER, "ben", "1");
        await scene.settle(held, settlement);
        expect(await findBreaker(scene)).toEqual(open);
      },
    );

    it("keeps the breaker when the completion is refused [DLV-8]", async ({ scene }) => {
      const held: DeliveryWithEnvelopeRow = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      scene.clock.set(held.delivery.leaseUntil);
      const late = scene.settlement(held, { kind: "completed" });
      await scene.unchanged(() => scene.store.settleDelivery(late));
      expect(await findBreaker(scene)).toMatchObject({ value: "1" });
    });
  });
}

/** Sends a handoff that must be refused without changing anything. Returns the outcome. */
function expectRefusedSend(scene: Scene, handover: Parameters<Scene["handoff"]>[0]) {
  return scene.unchanged(() => scene.store.sendHandoff(scene.handoff(handover)));
}

function findBreaker({ store, workspace }: Scene, name = "ben") {
  return store.findEntry(workspace, BREAKER, name);
}
