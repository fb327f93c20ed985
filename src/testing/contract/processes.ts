/** Leases bound to a process: when it has ended, its work goes back at once. */
import { describe, expect } from "vitest";
import type { Claimed } from "../../store/store.ts";
import { LEASE_MS, only, type Scene, type SceneTest } from "./scene.ts";

const ELSEWHERE = "elsewhere";
const ENDED = '{"reason":"process ended"}';
/** More than a store may look at in one go. */
const MANY = 150;

export function processes(it: SceneTest): void {
  describe("processes", () => {
    it.for<[string, (scene: Scene) => Promise<Claimed>]>([
      ["claimed", (scene) => scene.claimOne("ben", { process: "p1" })],
      ["accepted", (scene) => scene.acceptOne("ben", { process: "p1" })],
    ])(
      "work that was %s by one that is gone goes to the next as another try [DLV-6]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        expect(held.delivery.process).toBe("p1");
        expect(await scene.deliveryNow(held.delivery.id)).toEqual(held.delivery);
        scene.clock.advance(5);
        const next = { instance: "ben-2", process: "p2", gone: ["p0", "p1"] };
        const { delivery } = await scene.claimOne("ben", next);
        expect(delivery).toMatchObject({ attempt: 2, fence: 2, process: "p2", instance: "ben-2" });
        expect(await scene.store.readAttempts(scene.workspace, delivery.id)).toEqual([
          {
            delivery: delivery.id,
            attempt: 1,
            holder: "ben",
            instance: "ben-1",
            endedAt: scene.now,
            outcome: "expired",
            reason: ENDED,
          },
        ]);
        expect((await scene.history()).slice(-2)).toEqual(["expired", "claimed"]);
      },
    );

    it("what others hold stays with them: other processes, sessions, workspaces [DLV-6]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      await scene.send({ where: { workspace: ELSEWHERE } });
      for (const task of ["one", "two", "three"]) await scene.send({ task });
      const held = [
        await scene.acceptOne("ben", { process: "p2" }),
        await scene.acceptOne("ben", { process: "" }),
      ];
      const there = await scene.claimOne("ben", { process: "p1", workspace: ELSEWHERE });
      await scene.acceptOne("ben", { process: "p1" });
      // Nobody is called by an empty name.
      expect(
        only((await scene.claim("ben", { gone: ["p1", "", "p1"], limit: 5 })).claimed),
      ).toEqual(expect.objectContaining({ delivery: expect.objectContaining({ task: "three" }) }));
      for (const { delivery } of held) {
        expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
      }
      expect(await scene.deliveryNow(there.delivery.id, ELSEWHERE)).toEqual(there.delivery);
    });

    it("whoever claims notices for everybody, also by a later claim of the same turn [DLV-6]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      await scene.settle(held, { kind: "released", becomes: "ready" });
      await scene.acceptOne("ben", { process: "p1" });
      const [, , next] = await Promise.all([
        scene.claim("cyd"),
        scene.claim("cyd", { gone: ["p1"] }),
        scene.claim("ben"),
      ]);
      expect(only(next.claimed).delivery.attempt).toBe(3);
    });

    it("its late answer is refused, each of them [DLV-6]", async ({ scene }) => {
      const { store, workspace } = scene;
      await scene.send();
      const held = await scene.acceptOne("ben", { process: "p1" });
      await scene.claim("cyd", { gone: ["p1"] });
      const lease = scene.lease(held);
      const late = await scene.unchanged(() =>
        Promise.all([
          store.renewLease(workspace, lease),
          scene.append(scene.record("ben"), { lease }),
          store.settleDelivery(scene.settlement(held, { kind: "completed" })),
        ]),
      );
      expect(late.map((outcome) => outcome.kind)).toEqual(late.map(() => "lease_lost"));
    });

    it("after the last try its work is parked [DLV-7]", async ({ scene }) => {
      const { delivery } = await scene.send({ attempts: 1 });
      await scene.acceptOne("ben", { process: "p1" });
      expect((await scene.claim("ben", { gone: ["p1"] })).claimed).toEqual([]);
      expect(await scene.deliveryNow(delivery.id)).toMatchObject({
        state: "dead",
        settledAt: scene.now,
      });
      expect((await scene.history()).at(-1)).toBe("dead");
    });

    it("what ran out as well is told as that, and counts once [DLV-6]", async ({ scene }) => {
      await scene.send();
      const { delivery } = await scene.acceptOne("ben", { process: "p1" });
      scene.clock.advance(LEASE_MS);
      await scene.claim("cyd", { gone: ["p1"] });
      const tries = await scene.store.readAttempts(scene.workspace, delivery.id);
      expect(tries.map((each) => each.reason)).toEqual([""]);
    });

    it("however much it held, all of it comes back, the oldest first [DLV-6]", async ({
      scene,
    }) => {
      for (let i = 0; i < MANY; i++) await scene.send({ task: `task ${i}` });
      for (const process of ["p1", "p2"]) await scene.claim("ben", { limit: MANY / 2, process });
      const gone = ["p2", "p1"];
      const { claimed } = await scene.claim("ben", { gone, limit: MANY });
      expect(claimed.map(({ delivery }) => delivery.task)).toEqual(
        claimed.map((_, i) => `task ${i}`),
      );
      let back = claimed.length;
      while (back < MANY) back += (await scene.claim("ben", { gone, limit: MANY })).claimed.length;
      expect(await scene.books()).toEqual({ claimed: MANY });
      expect(await scene.store.listProcesses(scene.workspace)).toEqual([]);
    });

    it("those that hold something are listed, each once [DLV-6]", async ({ scene }) => {
      const { store, workspace } = scene;
      expect(await store.listProcesses(workspace)).toEqual([]);
      for (const task of ["a", "b", "c", "d", "e"]) await scene.send({ task });
      await scene.claim("ben", { process: "p1", limit: 2 });
      await scene.claimOne("ben", { process: "" });
      const ended = await scene.acceptOne("ben", { process: "p2" });
      const back = await scene.acceptOne("ben", { process: "p3" });
      expect([...(await store.listProcesses(workspace))].sort()).toEqual(["p1", "p2", "p3"]);
      expect(await store.listProcesses(ELSEWHERE)).toEqual([]);
      await scene.settle(ended, { kind: "completed" });
      await scene.settle(back, { kind: "released", becomes: "ready" });
      await scene.reopen();
      expect(await scene.store.listProcesses(workspace)).toEqual(["p1"]);
    });
  });
}
