/**
 * Tests of `settleDelivery()` with `next`: a settlement that claims and accepts the next delivery in the same
 * transaction, and is never undone by what it claims.
 */
import { describe, expect } from "vitest";
import {
  CLOSED_BRANCH,
  type ClaimDeliveries,
  type ClaimNext,
  type DeliveryWithEnvelopeRow,
  type Settlement,
} from "../../../src/store/store.ts";
import { expectOutcome } from "../expectations.ts";
import { FAILED, failedWithDelay, HOLD_MS, LEASE_MS } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
const COMPLETED: Settlement = { kind: "completed" };

export function settlingAndClaiming(it: SceneTest): void {
  describe("settling and claiming the next in one operation", () => {
    it("accepts the next delivery and appends both memories [DLV-20]", async ({ scene }) => {
      const held = await scene.underWay({ task: "one" });
      const sent = await scene.send({ task: "two" });
      scene.clock.advance(7);
      const operation = scene.settlement(held, COMPLETED, { next: nextOf(scene) });
      const { delivery, next } = expectOutcome(
        await scene.store.settleDelivery(operation),
        "settled",
      );
      expect(delivery).toMatchObject({ id: held.delivery.id, state: "completed" });
      const [accepting, settling] = await scene.everything();
      expect(settling?.id).toBe(operation.memory?.id);
      expect(next?.delivery).toEqual({
        ...sent.delivery,
        state: "accepted",
        attempt: 1,
        fence: 1,
        leaseUntil: scene.now + LEASE_MS,
        holdUntil: scene.now + HOLD_MS,
        seenAt: scene.now,
        acceptedAt: scene.now,
        holder: "ben",
        instance: "ben-1",
        acceptedBy: accepting?.id,
      });
      expect(await scene.store.findDelivery(scene.workspace, sent.delivery.id)).toEqual(next);
      expect(await scene.history()).toEqual(["sent", "accepted", "sent", "completed", "accepted"]);
    });

    it.for<Settlement>([COMPLETED, { kind: "declined" }, { kind: "asked" }, failedWithDelay(900)])(
      "claims with every settlement: $kind [DLV-20]",
      async (settlement, { scene }) => {
        const held = await scene.underWay({ task: "one" });
        const sent = await scene.send({ task: "two" });
        const next = await settleAndClaim(scene, held, { settlement });
        expect(next?.delivery.id).toBe(sent.delivery.id);
        expect(await scene.deliveryNow(held.delivery.id)).not.toMatchObject({ state: "accepted" });
      },
    );

    it("claims the oldest delivery first, one at a time, until nothing is ready [DLV-20]", async ({
      scene,
    }) => {
      let held: DeliveryWithEnvelopeRow | undefined = await scene.underWay({ task: "zero" });
      for (const task of ["one", "two", "three"]) await scene.send({ task });
      const tasks: string[] = [];
      while (held !== undefined) {
        held = await settleAndClaim(scene, held);
        if (held !== undefined) tasks.push(held.delivery.task);
      }
      expect(tasks).toEqual(["one", "two", "three"]);
      expect(await scene.totals()).toEqual({ completed: 4 });
    });

    it("claims only deliveries of the given task, and of the receiver's inboxes [DLV-20]", async ({
      scene,
    }) => {
      await scene.register("ben", { role: "crew" });
      const held = await scene.underWay({ task: "zero" });
      await scene.send({ task: "one" });
      await scene.send({ task: "other", to: "cyd" });
      await scene.send({ task: "two", to: "role:crew" });
      const next = await settleAndClaim(scene, held, { change: { task: "two" } });
      expect(next?.delivery).toMatchObject({ task: "two", holder: "ben" });
      expect(await settleAndClaim(scene, next, { change: { task: "other" } })).toBeUndefined();
    });

    it("claims a retry that is due by then [DLV-20]", async ({ scene }) => {
      const failed = await scene.underWay({ task: "one" });
      await scene.settle(failed, failedWithDelay(500));
      const held = await scene.underWay({ task: "two" });
      scene.clock.advance(500);
      const next = await settleAndClaim(scene, held);
      expect(next?.delivery).toMatchObject({ id: failed.delivery.id, attempt: 2 });
    });

    it("gives each delivery to one holder when several settle concurrently [DLV-6 DLV-20]", async ({
      scene,
    }) => {
      const held: DeliveryWithEnvelopeRow[] = [];
      for (const n of [1, 2, 3]) held.push(await scene.underWay({ task: `held ${n}` }));
      for (const n of [1, 2, 3]) await scene.send({ task: `ready ${n}` });
      const outcomes = await Promise.all([
        ...held.map((each) => settleAndClaim(scene, each)),
        scene.acceptOneOrNone("ben"),
      ]);
      const ids = outcomes.flatMap((each) => (each === undefined ? [] : [each.delivery.id]));
      expect(new Set(ids).size).toBe(ids.length);
      expect(await scene.totals()).toMatchObject({ completed: 3, accepted: ids.length });
      // A claim may find less while others are about to take it, but nothing is left behind.
      while ((await scene.acceptOneOrNone("ben")) !== undefined);
      expect(await scene.totals()).toEqual({ completed: 3, accepted: 3 });
    });

    it.for<[string, (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<string>]>([
      [
        "its lease expired",
        async (scene, held) => {
          scene.clock.set(held.delivery.leaseUntil);
          return "lease_lost";
        },
      ],
      [
        "the sender extended the work",
        async (scene, held) => {
          const extend = scene.extending(held);
          await scene.send({ task: "one", extend });
          return "extended";
        },
      ],
      [
        "its author is disabled",
        async (scene) => {
          await scene.register("ben", { status: "disabled" });
          return "agent_disabled";
        },
      ],
    ])(
      "claims nothing if the settlement is refused because %s [DLV-20]",
      async ([_case, spoil], { scene }) => {
        const held = await scene.underWay({ task: "one" });
        await scene.send({ task: "two" });
        const operation = scene.settlement(held, COMPLETED, { next: nextOf(scene) });
        const kind = await spoil(scene, held);
        const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
        expect(outcome).toMatchObject({ kind });
      },
    );

    it.for<[string, (scene: Scene) => Promise<Partial<ClaimNext>>]>([
      ["is unknown", async () => ({ receiver: "nobody" })],
      [
        "is disabled",
        async (scene) => {
          await scene.register("cyd", { status: "disabled" });
          return { receiver: "cyd" };
        },
      ],
      [
        "is paused",
        async (scene) => {
          await scene.register("cyd", { status: "paused" });
          return { receiver: "cyd" };
        },
      ],
      ["acts with another key", async () => ({ publicKey: "AAAA" })],
      [
        "throws when it accepts",
        async () => ({
          accept: () => {
            throw new Error("the receiver's own bug");
          },
        }),
      ],
      [
        "accepts with a memory that refers to an unknown one",
        async (scene) => ({
          accept: () => scene.record("ben", { content: "see", refs: [UNKNOWN_MEMORY] }),
        }),
      ],
      [
        "accepts with a memory of an unknown agent",
        async (scene) => ({ accept: () => scene.record("nobody") }),
      ],
      [
        "accepts with a memory whose id is taken",
        async (scene) => {
          const [known] = await scene.remember([scene.record("ada")]);
          return {
            accept: () => scene.record("ben", { content: "again", id: known?.id as string }),
          };
        },
      ],
      [
        "accepts on a closed branch",
        async (scene) => {
          const where = { branch: "side" };
          const entry = { kind: CLOSED_BRANCH, name: "side", value: "{}", basedOn: 0 };
          const last = scene.record("ada", "the last");
          expectOutcome(await scene.append(last, { ...where, entries: [entry] }), "appended");
          return where;
        },
      ],
    ])(
      "settles and claims nothing if the receiver %s [DLV-20]",
      async ([_case, change], { scene }) => {
        for (const to of ["ben", "cyd"]) await scene.send({ task: "two", to });
        const held = await scene.underWay({ task: "one" });
        const refused = await change(scene);
        expect(await settleAndClaim(scene, held, { change: refused })).toBeUndefined();
        expect(await scene.deliveryNow(held.delivery.id)).toMatchObject({ state: "completed" });
        expect(await scene.totals()).toEqual({ completed: 1, ready: 2 });
        expect((await scene.acceptOne("ben")).delivery).toMatchObject({ attempt: 1, task: "two" });
      },
    );

    it("keeps concurrent writes when `accept` throws [DLV-1 DLV-20]", async ({ scene }) => {
      const held = await scene.underWay({ task: "one" });
      await scene.send({ task: "two" });
      const accept = (): never => {
        throw new Error("the receiver's own bug");
      };
      const before = (await scene.everything()).length;
      const [, next] = await Promise.all([
        scene.remember([scene.record("ada", "before")]),
        settleAndClaim(scene, held, { change: { accept } }),
        scene.remember([scene.record("ada", "after")]),
      ]);
      expect(next).toBeUndefined();
      const seqs = (await scene.everything()).map((row) => row.seq);
      expect(seqs).toEqual(seqs.map((_, n) => before + 3 - n));
    });

    it("may leave what only the settlement makes ready to the next claim [DLV-20]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      const behind = await scene.send({ from: "cyd" }); // Of the same task, so it waits for its turn.
      const next = await settleAndClaim(scene, held);
      const claimed = next ?? (await scene.acceptOne("ben"));
      expect(claimed.delivery).toMatchObject({ id: behind.delivery.id, attempt: 1 });
    });

    it("counts the attempt of work that fails in it [DLV-7 DLV-20]", async ({ scene }) => {
      const held = await scene.underWay({ task: "one" });
      await settleAndClaim(scene, held, { settlement: FAILED });
      expect(await scene.store.readAttempts(scene.workspace, held.delivery.id)).toMatchObject([
        { attempt: 1, outcome: "failed" },
      ]);
    });
  });
}

/** Returns what ben claims together with a settlement. */
function nextOf(scene: Scene, change: Partial<ClaimNext> = {}): ClaimNext {
  const { limit: _limit, workspace: _workspace, ...claim }: ClaimDeliveries = scene.claimOf("ben");
  return { ...claim, accept: (claimed) => scene.continuing(claimed), ...change };
}

/** Settles work, expects success and returns what was claimed with it. */
async function settleAndClaim(
  scene: Scene,
  held: DeliveryWithEnvelopeRow | undefined,
  {
    settlement = COMPLETED,
    change = {},
  }: { readonly settlement?: Settlement; readonly change?: Partial<ClaimNext> } = {},
): Promise<DeliveryWithEnvelopeRow | undefined> {
  expect(held).toBeDefined();
  const operation = scene.settlement(held as DeliveryWithEnvelopeRow, settlement, {
    next: nextOf(scene, change),
  });
  return expectOutcome(await scene.store.settleDelivery(operation), "settled").next;
}
