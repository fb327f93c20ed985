/**
 * Tests of `claimDeliveries()`: claims the oldest ready deliveries of a receiver, each for exactly
 * one holder.
 */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { expectSingle } from "../expectations.ts";
import { FAILED, failedWithDelay, HOLD_MS, LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

export function claiming(it: SceneTest): void {
  describe("claiming", () => {
    it("claims the oldest deliveries first, up to the limit [DLV-13]", async ({ scene }) => {
      await sendAll(scene, ["one", "two", "three"]);
      expect(await claimTasks(scene, "ben", { limit: 2 })).toEqual(["one", "two"]);
      expect(await claimTasks(scene, "ben", { limit: 2 })).toEqual(["three"]);
      expect(await claimTasks(scene, "ben", { limit: 2 })).toEqual([]);
    });

    it("starts an attempt with a lease and a new fence [DLV-6]", async ({ scene }) => {
      const sent = await scene.send();
      scene.clock.advance(7);
      const claimed = await scene.claimOne("ben", { instance: "ben-2" });
      expect(claimed.delivery).toEqual({
        ...sent.delivery,
        state: "claimed",
        attempt: 1,
        fence: 1,
        leaseUntil: scene.now + LEASE_MS,
        holdUntil: scene.now + HOLD_MS,
        seenAt: scene.now,
        holder: "ben",
        instance: "ben-2",
      });
      expect(claimed.envelope.id).toBe(sent.delivery.envelope);
      expect(await scene.store.findDelivery(scene.workspace, sent.delivery.id)).toEqual(claimed);
      expect(await scene.store.readEvents(scene.workspace, 1, 10)).toMatchObject([
        { kind: "claimed", agent: "ben", delivery: sent.delivery.id, attempt: 1 },
      ]);
    });

    it("claims nothing of another receiver or workspace [DLV-5]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      await scene.send({ to: "cyd" });
      await scene.send({ where: { workspace: "elsewhere" } });
      expect(await claimTasks(scene, "ben")).toEqual([]);
      expect(await claimTasks(scene, "ada")).toEqual([]);
    });

    it("claims only deliveries of the given task [DLV-13]", async ({ scene }) => {
      await sendAll(scene, ["one", "two"]);
      expect(await claimTasks(scene, "ben", { task: "none", limit: 5 })).toEqual([]);
      expect(await claimTasks(scene, "ben", { task: "two", limit: 5 })).toEqual(["two"]);
      expect(await claimTasks(scene, "ben", { task: "two", limit: 5 })).toEqual([]);
      expect(await claimTasks(scene, "ben", { limit: 5 })).toEqual(["one"]);
    });

    it("claims a delivery by its id if it is ready and addressed to the receiver", async ({
      scene,
    }) => {
      await sendAll(scene, ["one", "two"]);
      const [, second] = (await listReadyIds(scene, "ben")) as [string, string];
      expect(await claimTasks(scene, "cyd", { delivery: second })).toEqual([]);
      expect(await claimTasks(scene, "ben", { delivery: "dlv_unknown" })).toEqual([]);
      expect(await claimTasks(scene, "ben", { delivery: second, task: "one" })).toEqual([]);
      expect(await claimTasks(scene, "ben", { delivery: second })).toEqual(["two"]);
      expect(await claimTasks(scene, "ben", { delivery: second })).toEqual([]);
    });

    it.for<[string, (scene: Scene) => Promise<unknown>]>([
      ["claimed", (scene) => scene.claimOne("ben")],
      ["accepted", (scene) => scene.acceptOne("ben")],
      ["completed", (scene) => acceptAndSettle(scene, { kind: "completed" })],
      ["declined", (scene) => acceptAndSettle(scene, { kind: "declined" })],
      ["dead", (scene) => acceptAndSettle(scene, { kind: "failed", becomes: "dead" })],
      ["scheduled", (scene) => acceptAndSettle(scene, failedWithDelay(1_000))],
    ])("does not offer a delivery that is %s [DLV-6]", async ([state, make], { scene }) => {
      const { delivery } = await scene.send();
      await make(scene);
      expect((await scene.deliveryNow(delivery.id)).state).toBe(state);
      expect(await claimTasks(scene, "ben", { limit: 5 })).toEqual([]);
      expect(await claimTasks(scene, "ben", { task: "task", limit: 5 })).toEqual([]);
      expect(await claimTasks(scene, "ben", { delivery: delivery.id })).toEqual([]);
    });

    it("offers the delivery that replaced a superseded one, not the superseded one [ENV-11]", async ({
      scene,
    }) => {
      const first = await scene.send();
      await scene.send({ extend: scene.extending(first) });
      expect(await claimTasks(scene, "ben", { delivery: first.delivery.id })).toEqual([]);
      expect(await claimTasks(scene, "ben", { limit: 5 })).toEqual(["task"]);
    });

    it("gives each delivery to one session when several claim concurrently [DLV-6]", async ({
      scene,
    }) => {
      await sendAll(
        scene,
        Array.from({ length: 12 }, (_, i) => `task ${i}`),
      );
      const claims = await Promise.all(
        [0, 1, 2, 3, 4].map((n) => scene.claim("ben", { instance: `ben-${n}`, limit: 3 })),
      );
      const ids = claims.flatMap(({ claimed }) => claimed.map(({ delivery }) => delivery.id));
      expect(new Set(ids).size).toBe(12);
      expect(ids).toHaveLength(12);
    });

    it.for([
      ["unknown", "unknown_agent"],
      ["disabled", "agent_disabled"],
    ])(
      "refuses a receiver that is %s and changes nothing [MEM-4]",
      async ([who, kind], { scene }) => {
        await scene.send();
        await scene.register("ben", { status: "disabled" });
        const receiver = who === "disabled" ? "ben" : "nobody";
        const outcome = await scene.unchanged(() =>
          scene.store.claimDeliveries(scene.claimOf(receiver)),
        );
        expect(outcome).toEqual({ kind, agent: receiver });
      },
    );

    it("refuses a receiver with a key unless it claims with that key [MEM-4]", async ({
      scene,
    }) => {
      const { publicKey } = signerOf(generateKey());
      await scene.send();
      await scene.register("ben", { publicKey });
      for (const key of ["", signerOf(generateKey()).publicKey]) {
        const operation = scene.claimOf("ben", { publicKey: key });
        const outcome = await scene.unchanged(() => scene.store.claimDeliveries(operation));
        expect(outcome).toEqual({ kind: "key_changed", agent: "ben" });
      }
      expect(await claimTasks(scene, "ben", { publicKey })).toEqual(["task"]);
    });

    it("offers earlier work to an agent that is enabled again [DLV-2]", async ({ scene }) => {
      await scene.send();
      await scene.register("ben", { status: "disabled" });
      await scene.register("ben", { status: "active" });
      expect(await claimTasks(scene, "ben")).toEqual(["task"]);
    });

    it("offers work that has waited for a year [DLV-2]", async ({ scene }) => {
      await scene.send();
      scene.clock.advance(365 * 24 * 60 * 60 * 1_000);
      await scene.reopen();
      expect((await scene.claimOne("ben")).delivery).toMatchObject({ attempt: 1 });
    });
  });

  describe("claiming and accepting in one operation", () => {
    it("accepts the work and appends its first memory to the chain [DLV-10]", async ({ scene }) => {
      const sent = await scene.send();
      scene.clock.advance(7);
      const taken = await scene.acceptOne("ben");
      const [latest] = await scene.everything();
      expect(taken.delivery).toEqual({
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
        acceptedBy: latest?.id,
      });
      expect(await scene.store.findDelivery(scene.workspace, sent.delivery.id)).toEqual(taken);
      expect(await scene.history()).toEqual(["sent", "accepted"]);
      const { store, workspace } = scene;
      const memory = sent.place.id;
      expect(
        await store.findRelations({
          workspace,
          memory,
          direction: "in",
          sight: publicVisibility("main"),
          limit: 5,
        }),
      ).toMatchObject([{ kind: "continues-from", source: latest?.id }]);
    });

    it("calls `accept` with each claimed delivery to create its first memory", async ({
      scene,
    }) => {
      await sendAll(scene, ["one", "two"]);
      const seen: string[] = [];
      const { claimed } = await scene.claim("ben", {
        limit: 5,
        accept: (each) => {
          expect(each.delivery).toMatchObject({ state: "accepted", attempt: 1, holder: "ben" });
          expect(each.envelope.id).toBe(each.delivery.envelope);
          seen.push(each.delivery.task);
          return scene.continuing(each);
        },
      });
      expect(seen).toEqual(["one", "two"]);
      const accepted = claimed.map(({ delivery }) => delivery.acceptedBy);
      const newest = (await scene.everything()).slice(0, 2).map((row) => row.id);
      expect(accepted).toEqual(newest.reverse());
    });

    it.for(["missing_reference", "unknown_agent", "id_taken"] as const)(
      "claims nothing when a memory is refused with %s [DLV-1]",
      async (kind, { scene }) => {
        const [known] = await scene.remember([scene.record("ada")]);
        await sendAll(scene, ["one", "two", "three"]);
        const bad = {
          missing_reference: () => scene.record("ben", { content: "see", refs: [UNKNOWN_MEMORY] }),
          unknown_agent: () => scene.record("nobody"),
          id_taken: () => scene.record("ben", { content: "again", id: known?.id }),
        }[kind] as () => ReturnType<Scene["record"]>;
        const outcome = await scene.unchanged(() =>
          scene.store.claimDeliveries(
            scene.claimOf("ben", {
              limit: 5,
              accept: (each) => (each.delivery.task === "two" ? bad() : scene.continuing(each)),
            }),
          ),
        );
        expect(outcome).toMatchObject({ kind });
        expect(await claimTasks(scene, "ben", { limit: 5 })).toEqual(["one", "two", "three"]);
      },
    );

    it.for(Object.keys(MADE_READY))(
      "claims a delivery exactly once if it %s between two concurrent claims [DLV-6]",
      async (how, { scene }) => {
        const make = await MADE_READY[how]?.(scene);
        const [before, , after] = await Promise.all([
          scene.claim("ben"),
          make?.(),
          scene.claim("ben", { instance: "ben-2" }),
        ]);
        const claimed = [...before.claimed, ...after.claimed];
        expect(expectSingle(claimed).delivery.state).toBe("claimed");
      },
    );

    it("rejects the claim and keeps concurrent writes when `accept` throws [DLV-1]", async ({
      scene,
    }) => {
      await scene.send();
      const accept = (): never => {
        throw new Error("the receiver's own bug");
      };
      const [before, claim, after] = await Promise.allSettled([
        scene.remember([scene.record("ada", "before")]),
        scene.store.claimDeliveries(scene.claimOf("ben", { accept })),
        scene.remember([scene.record("ada", "after")]),
      ]);
      expect(claim).toMatchObject({
        status: "rejected",
        reason: { message: "the receiver's own bug" },
      });
      expect([before.status, after.status]).toEqual(["fulfilled", "fulfilled"]);
      expect((await scene.everything()).map((row) => row.seq)).toEqual([3, 2, 1]);
      expect((await scene.claimOne("ben")).delivery.attempt).toBe(1);
    });
  });

  describe("the time until the next delivery is due (nextDueMs)", () => {
    it("is infinite while nothing is held or scheduled", async ({ scene }) => {
      await scene.send({ to: "cyd" });
      expect(await scene.claim("ben")).toEqual({
        kind: "claimed",
        claimed: [],
        nextDueMs: Number.POSITIVE_INFINITY,
      });
    });

    it("is the time until the first lease expires", async ({ scene }) => {
      await sendAll(scene, ["one", "two"]);
      await scene.claimOne("ben", { leaseMs: 500 });
      await scene.acceptOne("ben", { leaseMs: 900 });
      scene.clock.advance(100);
      expect((await scene.claim("ben")).nextDueMs).toBe(400);
    });

    it("is 0 while a lease is overdue, whichever agent claims", async ({ scene }) => {
      await sendAll(scene, ["one", "two"]);
      await scene.claimOne("ben");
      scene.clock.advance(1);
      await scene.claimOne("ben");
      scene.clock.advance(LEASE_MS - 2);
      expect((await scene.claim("cyd")).nextDueMs).toBe(1);
      for (const late of [1, 1, LEASE_MS]) {
        scene.clock.advance(late);
        expect((await scene.claim("cyd")).nextDueMs).toBe(0);
      }
      await scene.takeBack();
      expect((await scene.claim("cyd")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
    });

    it("is the time until the earliest deadline or decision time, claimed or not", async ({
      scene,
    }) => {
      await scene.send({ lapseMs: 700 });
      expect((await scene.claim("cyd")).nextDueMs).toBe(700);
      await scene.send({ task: "sooner", deadline: scene.now + 600, lapseMs: 900 });
      expect((await scene.claim("cyd")).nextDueMs).toBe(600);
      await scene.claim("ben", { limit: 2 });
      expect((await scene.claim("cyd")).nextDueMs).toBe(600);
      scene.clock.advance(600);
      expect((await scene.claim("cyd")).nextDueMs).toBe(0);
    });

    it("is infinite when the claim reaches its limit", async ({ scene }) => {
      await sendAll(scene, ["one", "two"]);
      expect((await scene.claim("ben")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
      expect((await scene.claim("ben", { limit: 2 })).nextDueMs).toBe(LEASE_MS);
    });

    it("ignores other workspaces", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      await scene.send({ where: { workspace: "elsewhere" }, lapseMs: 5 });
      expect((await scene.claim("ben")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
    });

    it("is the time until the earliest retry", async ({ scene }) => {
      await sendAll(scene, ["one", "two", "three"]);
      for (const delayMs of [400, 300]) {
        const held = await scene.acceptOne("ben");
        await scene.settle(held, failedWithDelay(delayMs));
      }
      const { claimed, nextDueMs } = await scene.claim("ben", { limit: 2 });
      expect(expectSingle(claimed).delivery.task).toBe("three");
      expect(nextDueMs).toBe(300);
    });

    it("is infinite again once all work has ended", async ({ scene }) => {
      await scene.send();
      const { delivery } = await scene.claimOne("ben");
      scene.clock.set(delivery.leaseUntil);
      await scene.takeBack();
      const again = await scene.claim("ben", { limit: 2 });
      expect(again.nextDueMs).toBe(LEASE_MS);
      await scene.settle(expectSingle(again.claimed), { kind: "declined" });
      expect((await scene.claim("ben")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
    });
  });
}

/** Ways in which work becomes ready: each prepares its scene and returns the last step. */
const MADE_READY: Readonly<Record<string, (scene: Scene) => Promise<() => Promise<unknown>>>> = {
  "is sent": async (scene) => {
    const handoff = scene.handoff();
    return () => scene.store.sendHandoff(handoff);
  },
  "is sent to the role": async (scene) => {
    await scene.register("ben", { role: "coder" });
    const handoff = scene.handoff({ to: "role:coder" });
    return () => scene.store.sendHandoff(handoff);
  },
  "is released": async (scene) => {
    const settlement = scene.settlement(await scene.underWay(), RELEASED);
    return () => scene.store.settleDelivery(settlement);
  },
  "fails and is due again at once": async (scene) => {
    const settlement = scene.settlement(await scene.underWay(), FAILED);
    return () => scene.store.settleDelivery(settlement);
  },
  "gets its turn": async (scene) => {
    await scene.send();
    await scene.send({ from: "cyd" });
    const settlement = scene.settlement(await scene.acceptOne("ben"), { kind: "completed" });
    return () => scene.store.settleDelivery(settlement);
  },
};

async function sendAll(scene: Scene, names: readonly string[]): Promise<void> {
  for (const task of names) await scene.send({ task });
}

async function claimTasks(
  scene: Scene,
  receiver: string,
  change: Parameters<Scene["claim"]>[1] = {},
): Promise<string[]> {
  const { claimed } = await scene.claim(receiver, change);
  return claimed.map(({ delivery }) => delivery.task);
}

async function listReadyIds(scene: Scene, receiver: string): Promise<string[]> {
  const { store, workspace } = scene;
  const listed = await store.listDeliveries({
    workspace,
    receivers: [receiver],
    states: ["ready"],
    limit: 10,
  });
  return listed.map(({ delivery }) => delivery.id);
}

async function acceptAndSettle(
  scene: Scene,
  settlement: Parameters<Scene["settle"]>[1],
): Promise<unknown> {
  return scene.settle(await scene.acceptOne("ben"), settlement);
}
