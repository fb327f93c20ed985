/**
 * Tests of the order per task: a delivery cannot be claimed while an earlier one of the same
 * receiver and task is open.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { DeliveryRow } from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow, Settlement } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { FAILED, failedWithDelay, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

/** Ways to end a delivery for good. */
const ENDINGS: readonly [
  string,
  (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<unknown>,
][] = [
  ["completed", (scene, held) => scene.settle(held, { kind: "completed" })],
  ["declined", (scene, held) => scene.settle(held, { kind: "declined" })],
  ["dead-lettered", (scene, held) => scene.settle(held, { kind: "failed", becomes: "dead" })],
  ["released for good", (scene, held) => scene.settle(held, { kind: "released", becomes: "dead" })],
  ["handed on", (scene, held) => scene.send({ from: "ben", to: "cyd", settles: held })],
  ["handed on to its own receiver", (scene, held) => scene.send({ from: "ben", settles: held })],
  [
    "expired on its last attempt",
    async (scene) => {
      scene.clock.advance(LEASE_MS);
      await scene.takeBack();
    },
  ],
];

/** Ways to leave a delivery open. */
const PAUSES: readonly [string, (scene: Scene) => Promise<unknown>][] = [
  ["claimed", (scene) => scene.claimOne("ben")],
  ["accepted", (scene) => scene.acceptOne("ben")],
  ["extended", async (scene) => extendHeld(scene)],
  ["waiting for a retry", (scene) => acceptAndSettle(scene, failedWithDelay(500))],
  ["waiting for an answer", (scene) => acceptAndSettle(scene, { kind: "asked" })],
];

export function order(it: SceneTest): void {
  describe("order per task", () => {
    it("claims only the first delivery, whether by limit, task or id [DLV-13]", async ({
      scene,
    }) => {
      const [first, second] = await sendThree(scene);
      expect(first?.inTurn).toBe(true);
      expect(second?.inTurn).toBe(false);
      expect(await claimSenders(scene, { delivery: second?.id ?? "" })).toEqual([]);
      expect(await claimSenders(scene, { limit: 5 })).toEqual(["ada"]);
      expect(await claimSenders(scene, { limit: 5 })).toEqual([]);
      expect(await claimSenders(scene, { limit: 5, task: "task" })).toEqual([]);
      const accept = (each: DeliveryWithEnvelopeRow) => scene.continuing(each);
      expect(await claimSenders(scene, { delivery: second?.id ?? "", accept })).toEqual([]);
      expect(await claimSenders(scene, { limit: 5, task: "task", accept })).toEqual([]);
    });

    it.for(ENDINGS)(
      "puts the next delivery in turn and wakes its receiver when the first is %s [DLV-13]",
      async ([_case, end], { scene }) => {
        const { store, workspace } = scene;
        const [, second, third] = await sendThree(scene, { attempts: 1 });
        const held = await scene.acceptOne("ben");
        let calls = 0;
        store.onWake({ workspace, agent: "ben" }, () => {
          calls++;
        });
        await end(scene, held);
        await turn();
        expect(calls).toBeGreaterThan(0);
        expect(await scene.deliveryNow(second?.id ?? "")).toEqual({ ...second, inTurn: true });
        expect(await scene.deliveryNow(third?.id ?? "")).toEqual(third);
        expect(await claimSenders(scene, { limit: 5 })).toEqual(["cyd"]);
      },
    );

    it.for(PAUSES)(
      "keeps the next delivery waiting while the first is %s [DLV-13]",
      async ([_case, pause], { scene }) => {
        const [, second] = await sendThree(scene);
        await pause(scene);
        expect(await claimSenders(scene, { limit: 5 })).toEqual([]);
        expect(await claimSenders(scene, { delivery: second?.id ?? "" })).toEqual([]);
      },
    );

    it.for<[string, (scene: Scene) => Promise<unknown>]>([
      ["failed", (scene) => acceptAndSettle(scene, FAILED)],
      ["was released", (scene) => acceptAndSettle(scene, RELEASED)],
      [
        "lost its lease",
        async (scene) => {
          await scene.acceptOne("ben");
          scene.clock.advance(LEASE_MS);
          await scene.takeBack();
        },
      ],
    ])(
      "claims the first delivery before the next one again after it %s [DLV-13]",
      async ([_case, pause], { scene }) => {
        await sendThree(scene);
        await pause(scene);
        expect(await claimSenders(scene, { limit: 5 })).toEqual(["ada"]);
      },
    );

    it("does not hold up other tasks, receivers or workspaces [DLV-13]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      await scene.send();
      const others = [
        await scene.send({ task: "other" }),
        await scene.send({ to: "cyd" }),
        await scene.send({ where: { workspace: ELSEWHERE } }),
      ];
      expect(others.map(({ delivery }) => delivery.inTurn)).toEqual([true, true, true]);
      await scene.claimOne("ben");
      expect((await scene.claimOne("ben")).delivery.task).toBe("other");
      await scene.claimOne("cyd");
      await scene.claimOne("ben", { workspace: ELSEWHERE });
    });

    it("claims one delivery per task at a time, the oldest of each [DLV-13]", async ({ scene }) => {
      for (const task of ["a", "b", "c"]) {
        for (const from of ["ada", "cyd"]) await scene.send({ from, task });
      }
      const { claimed: taken } = await scene.claim("ben", { limit: 10 });
      const seen = taken.map(({ delivery }) => `${delivery.task} ${delivery.sender}`);
      expect(seen).toEqual(["a ada", "b ada", "c ada"]);
    });

    it("keeps the place and turn of a delivery that is replaced [DLV-13]", async ({ scene }) => {
      const [first, second] = await sendThree(scene);
      for (const [delivery, from] of [
        [second, "cyd"],
        [first, "ada"],
      ] as const) {
        if (delivery === undefined) throw new Error("three were sent");
        const again = await scene.send({ from, extend: scene.extending({ delivery }) });
        expect(again.delivery).toMatchObject({ place: delivery.place, inTurn: delivery.inTurn });
        expect((await scene.deliveryNow(delivery.id)).inTurn).toBe(delivery.inTurn);
      }
      expect(await drain(scene)).toEqual(["ada", "cyd", "ben"]);
    });

    it("queues work that is handed on to its own receiver last, or in turn if it is alone [DLV-13]", async ({
      scene,
    }) => {
      await scene.send({ from: "ben" });
      const alone = await scene.send({ from: "ben", settles: await scene.acceptOne("ben") });
      expect(alone.delivery.inTurn).toBe(true);
      await scene.send({ from: "cyd" });
      const behind = await scene.send({ from: "ben", settles: await scene.acceptOne("ben") });
      expect(behind.delivery.inTurn).toBe(false);
      expect(await drain(scene)).toEqual(["cyd", "ben"]);
    });

    it("puts a replacement in turn when the same handoff ends the delivery before it [DLV-13]", async ({
      scene,
    }) => {
      const first = await scene.send();
      const parents = [first.delivery.envelope];
      const queued = await scene.send({ from: "ben", parents });
      const held = await scene.acceptOne("ben");
      const extend = scene.extending(queued);
      const again = await scene.send({ from: "ben", settles: held, extend });
      expect(again).toMatchObject({ superseded: queued.delivery.id, delivery: { inTurn: true } });
      expect((await scene.claimOne("ben")).delivery.id).toBe(again.delivery.id);
    });

    it("delivers a long queue of one task in the order it was sent [DLV-13]", async ({ scene }) => {
      const origin = await scene.send({ to: "cyd", task: "origin" });
      let parent = origin.delivery.envelope;
      const sent: string[] = [];
      for (let i = 0; i < 30; i++) {
        const { delivery } = await scene.send({ parents: [parent] });
        sent.push(delivery.id);
        parent = delivery.envelope;
      }
      const worked: string[] = [];
      for (let i = 0; i < 30; i++) {
        const work = await scene.acceptOne("ben", { limit: 5 });
        worked.push(work.delivery.id);
        await scene.settle(work, { kind: "completed" });
        if (i === 15) await scene.reopen();
      }
      expect(worked).toEqual(sent);
    });

    it("puts only one of several concurrent handoffs in turn [DLV-13]", async ({ scene }) => {
      const handoffs = ["ada", "cyd", "ben"].map((from) => scene.handoff({ from }));
      const outcomes = await Promise.all(handoffs.map((each) => scene.store.sendHandoff(each)));
      const turns = outcomes.map(
        (outcome) => expectSingle(expectOutcome(outcome, "sent").deliveries).inTurn,
      );
      expect(turns).toEqual([true, false, false]);
    });

    it("gives a delivery to one of several concurrent claims, and the next one after it is settled [DLV-13]", async ({
      scene,
    }) => {
      await sendThree(scene);
      const claims = await Promise.all([1, 2, 3].map(() => scene.claim("ben", { limit: 3 })));
      const held = expectSingle(claims.flatMap((each) => each.claimed));
      const [, next] = await Promise.all([
        scene.settle(held, { kind: "declined" }),
        scene.claim("ben", { limit: 3 }),
      ]);
      expect(expectSingle(next.claimed).delivery.sender).toBe("cyd");
    });
  });
}

/** Sends three deliveries of one task to one receiver. */
async function sendThree(scene: Scene, change: { readonly attempts?: number } = {}) {
  const sent: DeliveryRow[] = [];
  for (const from of ["ada", "cyd", "ben"]) {
    sent.push((await scene.send({ from, ...change })).delivery);
  }
  return sent;
}

/** Claims deliveries and returns their senders. */
async function claimSenders(
  scene: Scene,
  change: Parameters<Scene["claim"]>[1] = {},
): Promise<string[]> {
  const taken = await scene.claim("ben", change);
  return taken.claimed.map(({ delivery }) => delivery.sender);
}

/** Claims and completes all deliveries. Returns their senders in the order of the claims. */
async function drain(scene: Scene): Promise<string[]> {
  const senders: string[] = [];
  for (;;) {
    const accept = (each: DeliveryWithEnvelopeRow) => scene.continuing(each);
    const [work] = (await scene.claim("ben", { accept })).claimed;
    if (work === undefined) return senders;
    senders.push(work.delivery.sender);
    await scene.settle(work, { kind: "completed" });
  }
}

async function acceptAndSettle(scene: Scene, settlement: Settlement): Promise<unknown> {
  return scene.settle(await scene.acceptOne("ben"), settlement);
}

async function extendHeld(scene: Scene): Promise<unknown> {
  return scene.send({ extend: scene.extending(await scene.acceptOne("ben")) });
}
