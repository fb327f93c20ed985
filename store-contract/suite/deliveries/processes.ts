/**
 * Tests of leases that are bound to a process: when the process has ended, its work is due at once.
 */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";
const ENDED = '{"reason":"process ended"}';
/** More deliveries than a store may read at a time. */
const MANY = 150;

export function processes(it: SceneTest): void {
  describe("leases of processes", () => {
    it.for<[string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>]>([
      ["claimed", (scene) => scene.claimOne("ben", { process: "p1" })],
      ["accepted", (scene) => scene.acceptOne("ben", { process: "p1" })],
    ])(
      "redelivers work that was %s by an ended process as a new attempt [DLV-6]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        expect(held.delivery.process).toBe("p1");
        expect(await scene.deliveryNow(held.delivery.id)).toEqual(held.delivery);
        scene.clock.advance(5);
        await scene.takeBack({ gone: ["p0", "p1"], reason: ENDED });
        const { delivery } = await scene.claimOne("ben", { instance: "ben-2", process: "p2" });
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

    it("lists no work of other processes, sessions or workspaces as due [DLV-6]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      await scene.send({ where: { workspace: ELSEWHERE } });
      for (const task of ["one", "two", "three"]) await scene.send({ task });
      await scene.acceptOne("ben", { process: "p2" });
      await scene.acceptOne("ben", { process: "" });
      await scene.claimOne("ben", { process: "p1", workspace: ELSEWHERE });
      const gone = await scene.acceptOne("ben", { process: "p1" });
      // The empty name matches no lease, although leases of sessions have an empty process.
      expect((await scene.due({ gone: ["p1", "", "p1"] })).due).toEqual([gone]);
      expect((await scene.due({ gone: ["", "p3"] })).due).toEqual([]);
    });

    it("lists no work as due that an ended process had released or settled [DLV-6]", async ({
      scene,
    }) => {
      for (const task of ["one", "two"]) await scene.send({ task });
      await scene.settle(await scene.acceptOne("ben", { process: "p1" }), RELEASED);
      const two = await scene.acceptOne("ben", { process: "p1", task: "two" });
      await scene.settle(two, { kind: "completed" });
      expect((await scene.due({ gone: ["p1"] })).due).toEqual([]);
    });

    it("refuses every late call of an ended process [DLV-6]", async ({ scene }) => {
      const { store, workspace } = scene;
      await scene.send();
      const held = await scene.acceptOne("ben", { process: "p1" });
      await scene.takeBack({ gone: ["p1"] });
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

    it("dead-letters work of an ended process after the last attempt [DLV-7]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send({ attempts: 1 });
      await scene.acceptOne("ben", { process: "p1" });
      await scene.takeBack({ gone: ["p1"] });
      expect(await scene.deliveryNow(delivery.id)).toMatchObject({
        state: "dead",
        settledAt: scene.now,
      });
      expect((await scene.history()).at(-1)).toBe("dead");
    });

    it("lists work as due once if its lease has expired as well [DLV-6]", async ({ scene }) => {
      await scene.send();
      const held = await scene.acceptOne("ben", { process: "p1" });
      scene.clock.advance(LEASE_MS);
      expect(expectSingle((await scene.due({ gone: ["p1"] })).due)).toEqual(held);
    });

    it("lists all work of ended processes as due, oldest first [DLV-6]", async ({ scene }) => {
      for (let i = 0; i < MANY; i++) await scene.send({ task: `task ${i}` });
      for (const process of ["p1", "p2"]) await scene.claim("ben", { limit: MANY / 2, process });
      const { due } = await scene.due({ gone: ["p2", "p1"] });
      const tasks = due.map(({ delivery }) => delivery.task);
      expect(tasks).toEqual(Array.from({ length: MANY }, (_, i) => `task ${i}`));
      await scene.takeBack({ gone: ["p2", "p1"] });
      expect(await scene.totals()).toEqual({ ready: MANY });
      expect(await scene.store.listProcesses(scene.workspace)).toEqual([]);
    });

    it("lists each process that holds work once [DLV-6]", async ({ scene }) => {
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
      await scene.settle(back, RELEASED);
      await scene.reopen();
      expect(await scene.store.listProcesses(workspace)).toEqual(["p1"]);
    });
  });
}
