/** Breakers: a sender acts on what it knows of its receiver's, or is told what has changed. */
import { describe, expect } from "vitest";
import { BREAKER } from "../../../src/store/rows.ts";
import {
  type DeliveryWithEnvelopeRow,
  IGNORE_BREAKER,
  type Settlement,
} from "../../../src/store/store.ts";
import { FAILED, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

/** What does not close a breaker. */
const NON_CLOSING_SETTLEMENTS: readonly Settlement[] = [
  { kind: "declined" },
  { kind: "asked" },
  { kind: "failed", becomes: "dead" },
  FAILED,
  RELEASED,
];

export function breakers(it: SceneTest): void {
  describe("breakers", () => {
    it("who knows of none sends while there is none, else is told [DLV-8]", async ({ scene }) => {
      await scene.send();
      await scene.put(BREAKER, "ben", '{"n":1}');
      const outcome = await expectRefusedSend(scene, { task: "other" });
      expect(outcome).toEqual({ kind: "breaker_changed", entry: await findBreaker(scene) });
      expect(await findBreaker(scene)).toMatchObject({ revision: 1, value: '{"n":1}' });
    });

    it("who knows it as it is sends, who knows an older or a later one is told [DLV-8]", async ({
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

    it("who knows of one that is gone is told that there is none [DLV-8]", async ({ scene }) => {
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "ben", undefined);
      const outcome = await expectRefusedSend(scene, { breaker: 1 });
      expect(outcome).toEqual({ kind: "breaker_changed", entry: undefined });
    });

    it("it is the receiver's: another's, another kind or another workspace's do not matter [DLV-8]", async ({
      scene,
    }) => {
      await scene.put(BREAKER, "cyd", "1");
      await scene.put(BREAKER, "ada", "1");
      await scene.put("key", "ben", "1");
      const there = { kind: BREAKER, name: "ben", value: "1", basedOn: 0 };
      await scene.store.putEntry("elsewhere", there);
      await scene.send();
    });

    it("who does not mind it sends, whatever it says [DLV-3 DLV-8]", async ({ scene }) => {
      await scene.send({ breaker: IGNORE_BREAKER });
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ task: "other", breaker: IGNORE_BREAKER });
      expect(await findBreaker(scene)).toMatchObject({ revision: 1 });
    });

    it("a role's inbox has its own [DLV-5 DLV-8]", async ({ scene }) => {
      await scene.register("ben", { role: "coder" });
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ to: "role:coder" });
      await scene.put(BREAKER, "role:coder", "1");
      const outcome = await expectRefusedSend(scene, { to: "role:coder", task: "other" });
      expect(outcome).toMatchObject({ kind: "breaker_changed", entry: { name: "role:coder" } });
    });

    it("it is not looked at when open work is extended, waiting or held [DLV-8 ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send();
      await scene.put(BREAKER, "ben", "1");
      await scene.send({ extend: scene.extending(first) });
      const held = await scene.claimOne("ben");
      await scene.send({ extend: scene.extending(held), breaker: 9 });
      expect(await scene.books()).toEqual({ superseded: 1, claimed: 1 });
    });

    it("it is told after what is open, and before nothing else is wrong [DLV-8]", async ({
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

    it("a completion closes it, for whichever sender [DLV-8]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "cyd", "1");
      await scene.settle(held, { kind: "completed" });
      expect(await findBreaker(scene)).toBeUndefined();
      expect(await findBreaker(scene, "cyd")).toMatchObject({ value: "1" });
      await scene.send();
    });

    it("handing on is a completion: it closes the breaker of whoever hands on [DLV-8]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      await scene.put(BREAKER, "cyd", "1");
      await scene.send({ from: "ben", to: "cyd", settles: held, breaker: 1 });
      expect(await findBreaker(scene)).toBeUndefined();
      expect(await findBreaker(scene, "cyd")).toMatchObject({ value: "1" });
    });

    it("who hands on to itself is asked about its breaker as it was [DLV-8]", async ({ scene }) => {
      const held = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      const early = await expectRefusedSend(scene, { from: "ben", to: "ben", settles: held });
      expect(early).toMatchObject({ kind: "breaker_changed" });
      await scene.send({ from: "ben", to: "ben", settles: held, breaker: 1 });
      expect(await findBreaker(scene)).toBeUndefined();
    });

    it("a role's work closes the role's, not its holder's [DLV-5 DLV-8]", async ({ scene }) => {
      await scene.register("ben", { role: "coder" });
      await scene.send({ to: "role:coder" });
      const held = await scene.acceptOne("ben");
      for (const name of ["ben", "role:coder"]) await scene.put(BREAKER, name, "1");
      await scene.settle(held, { kind: "completed" });
      expect(await findBreaker(scene, "role:coder")).toBeUndefined();
      expect(await findBreaker(scene)).toMatchObject({ value: "1" });
    });

    it.for(NON_CLOSING_SETTLEMENTS.map((settlement) => ({ settlement })))(
      "what is $settlement.kind does not close it [DLV-8]",
      async ({ settlement }, { scene }) => {
        const held = await scene.underWay();
        const open = await scene.put(BREAKER, "ben", "1");
        await scene.settle(held, settlement);
        expect(await findBreaker(scene)).toEqual(open);
      },
    );

    it("a completion that is refused does not close it [DLV-8]", async ({ scene }) => {
      const held: DeliveryWithEnvelopeRow = await scene.underWay();
      await scene.put(BREAKER, "ben", "1");
      scene.clock.set(held.delivery.leaseUntil);
      const late = scene.settlement(held, { kind: "completed" });
      await scene.unchanged(() => scene.store.settleDelivery(late));
      expect(await findBreaker(scene)).toMatchObject({ value: "1" });
    });
  });
}

/** Sends what is refused, and expects that nothing has changed. */
function expectRefusedSend(scene: Scene, handover: Parameters<Scene["handoff"]>[0]) {
  return scene.unchanged(() => scene.store.sendHandoff(scene.handoff(handover)));
}

function findBreaker({ store, workspace }: Scene, name = "ben") {
  return store.findEntry(workspace, BREAKER, name);
}
