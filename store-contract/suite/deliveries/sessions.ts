/**
 * Tests of `renewSession()`: it renews every lease that the session holds, and none of another
 * session, process, agent or workspace. Expired leases are not renewed.
 */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { LEASE_MS } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

export function sessions(it: SceneTest): void {
  describe("renewing a session", () => {
    it("renews all its leases to their full time [DLV-6]", async ({ scene }) => {
      for (const task of ["one", "two"]) await scene.send({ task });
      const held = [await scene.claimOne("ben"), await scene.acceptOne("ben")];
      scene.clock.advance(LEASE_MS - 1);
      await renew(scene);
      for (const { delivery } of held) {
        expect(await scene.deliveryNow(delivery.id)).toEqual({
          ...delivery,
          leaseUntil: scene.now + LEASE_MS,
        });
      }
      scene.clock.advance(LEASE_MS - 1);
      expect((await scene.due()).due).toEqual([]);
      scene.clock.advance(1);
      expect((await scene.due()).due).toHaveLength(2);
    });

    it.for<[string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>]>([
      ["another session", (scene) => scene.acceptOne("ben", { instance: "ben-2" })],
      ["a process", (scene) => scene.acceptOne("ben", { process: "p1" })],
      [
        "another agent",
        async (scene) => {
          await scene.send({ to: "cyd" });
          return scene.acceptOne("cyd", { instance: "ben-1" });
        },
      ],
    ])("does not renew leases of %s [DLV-6]", async ([_case, hold], { scene }) => {
      await scene.send();
      const { delivery } = await hold(scene);
      scene.clock.advance(5);
      await renew(scene);
      expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
    });

    it("does not renew leases of the same session in another workspace [DLV-6]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      await scene.send({ where: { workspace: ELSEWHERE } });
      const { delivery } = await scene.claimOne("ben", { workspace: ELSEWHERE });
      await scene.underWay();
      scene.clock.advance(5);
      await renew(scene);
      expect(await scene.deliveryNow(delivery.id, ELSEWHERE)).toEqual(delivery);
    });

    it("does not renew an expired lease, before or after it is detected [DLV-6]", async ({
      scene,
    }) => {
      const { delivery } = await scene.underWay();
      scene.clock.advance(LEASE_MS);
      await renew(scene);
      expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
      await scene.takeBack();
      await renew(scene);
      expect((await scene.deliveryNow(delivery.id)).state).toBe("ready");
    });

    it("changes nothing if the session holds nothing or does not exist", async ({ scene }) => {
      await scene.send();
      await scene.unchanged(() => renew(scene));
      await scene.store.renewSession({ workspace: "x", agent: "y", instance: "z" }, LEASE_MS);
    });
  });
}

function renew({ store, workspace }: Scene): Promise<void> {
  return store.renewSession({ workspace, agent: "ben", instance: "ben-1" }, LEASE_MS);
}
