/** Tests of leases: accepting, renewing and writing under a lease, and refusals once it is lost. */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, Lease } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { LEASE_MS, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

/** Ways to lose the lease on accepted work. Each returns the lease that the holder still has. */
const LOST_LEASES: readonly [
  string,
  (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<Lease>,
][] = [
  ["with an older fence", async (scene, held) => scene.lease(held, { fence: 0 })],
  ["with a later fence", async (scene, held) => scene.lease(held, { fence: 9 })],
  [
    "after it expired",
    async (scene, held) => {
      scene.clock.set(held.delivery.leaseUntil);
      return scene.lease(held);
    },
  ],
  [
    "after another session claimed the work",
    async (scene, held) => {
      scene.clock.set(held.delivery.leaseUntil);
      await scene.takeBack();
      await scene.claimOne("ben", { instance: "ben-2" });
      return scene.lease(held);
    },
  ],
  [
    "after the work was released",
    async (scene, held) => {
      await scene.settle(held, RELEASED);
      return scene.lease(held);
    },
  ],
  [
    "after the work was completed",
    async (scene, held) => {
      await scene.settle(held, { kind: "completed" });
      return scene.lease(held);
    },
  ],
];

export function leases(it: SceneTest): void {
  describe("accepting an offer", () => {
    it("accepts claimed work, renews its lease and links its first memory [DLV-10]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const sent = await scene.send();
      const claimed = await scene.claimOne("ben");
      scene.clock.advance(7);
      const { place, delivery } = expectOutcome(await accept(scene, claimed), "accepted");
      expect(delivery).toEqual({
        ...claimed.delivery,
        state: "accepted",
        leaseUntil: scene.now + LEASE_MS,
        acceptedAt: place.storedAt,
        acceptedBy: place.id,
      });
      expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
      expect(await scene.history()).toEqual(["sent", "claimed", "accepted"]);
      const memory = sent.place.id;
      expect(
        await store.findRelations({
          workspace,
          memory,
          direction: "in",
          sight: publicVisibility("main"),
          limit: 5,
        }),
      ).toMatchObject([{ kind: "continues-from", source: place.id }]);
    });

    it.for<[string, (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<Lease>]>([
      [
        "with another fence",
        async (scene: Scene, held: DeliveryWithEnvelopeRow) => scene.lease(held, { fence: 2 }),
      ],
      [
        "after its lease expired",
        async (scene: Scene, held: DeliveryWithEnvelopeRow) => {
          scene.clock.set(held.delivery.leaseUntil);
          return scene.lease(held);
        },
      ],
      [
        "after it was released",
        async (scene: Scene, held: DeliveryWithEnvelopeRow) => {
          await scene.settle(held, RELEASED);
          return scene.lease(held);
        },
      ],
      [
        "a second time",
        async (scene: Scene, held: DeliveryWithEnvelopeRow) => {
          expectOutcome(await accept(scene, held), "accepted");
          return scene.lease(held);
        },
      ],
    ])(
      "returns `lease_lost` for an offer that is accepted %s [DLV-6]",
      async ([_case, lose], { scene }) => {
        await scene.send();
        const claimed = await scene.claimOne("ben");
        const lease = await lose(scene, claimed);
        const outcome = await scene.unchanged(() => accept(scene, claimed, lease));
        expect(outcome).toEqual({
          kind: "lease_lost",
          delivery: await scene.deliveryNow(claimed.delivery.id),
        });
      },
    );

    it("refuses work that was not claimed, even with its current fence [DLV-6]", async ({
      scene,
    }) => {
      const sent = await scene.send();
      const found = await scene.store.findDelivery(scene.workspace, sent.delivery.id);
      const outcome = await scene.unchanged(() => accept(scene, found as DeliveryWithEnvelopeRow));
      expect(outcome).toEqual({ kind: "lease_lost", delivery: sent.delivery });
    });

    it("returns `lease_lost` and no delivery for an unknown id or another workspace [DLV-6]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      await scene.send({ where: { workspace: "elsewhere" } });
      const there = await scene.claimOne("ben", { workspace: "elsewhere" });
      const memory = scene.record("ben");
      for (const delivery of ["dlv_unknown", there.delivery.id]) {
        const lease = scene.lease(there, { delivery });
        const { store, workspace, branch } = scene;
        const outcome = await store.acceptDelivery({ workspace, branch, lease, memory });
        expect(outcome).toEqual({ kind: "lease_lost", delivery: undefined });
      }
    });

    it("keeps the offer open when the memory is refused [DLV-1]", async ({ scene }) => {
      const { store, workspace, branch } = scene;
      await scene.send();
      const claimed = await scene.claimOne("ben");
      const lease = scene.lease(claimed);
      const known = expectSingle(await scene.remember([scene.record("ada")]));
      for (const [kind, memory] of [
        ["unknown_agent", scene.record("nobody")],
        ["missing_reference", scene.record("ben", { content: "see", refs: [UNKNOWN_MEMORY] })],
        ["id_taken", scene.record("ben", { content: "again", id: known.id })],
      ] as const) {
        const outcome = await scene.unchanged(() =>
          store.acceptDelivery({ workspace, branch, lease, memory }),
        );
        expect(outcome).toMatchObject({ kind });
      }
      expectOutcome(await accept(scene, claimed), "accepted");
    });

    it("refuses a holder that was disabled in the meantime [MEM-4]", async ({ scene }) => {
      await scene.send();
      const claimed = await scene.claimOne("ben");
      await scene.register("ben", { status: "disabled" });
      const outcome = await scene.unchanged(() => accept(scene, claimed));
      expect(outcome).toEqual({ kind: "agent_disabled", agent: "ben" });
    });
  });

  describe("renewing a lease", () => {
    it.for<[string, (scene: Scene) => Promise<DeliveryWithEnvelopeRow>]>([
      ["claimed", (scene: Scene) => scene.claimOne("ben")],
      ["accepted", (scene: Scene) => scene.acceptOne("ben")],
    ])(
      "renews the lease of %s work to its full time [DLV-6]",
      async ([_state, hold], { scene }) => {
        await scene.send();
        const held = await hold(scene);
        scene.clock.advance(LEASE_MS - 1);
        const outcome = await scene.store.renewLease(scene.workspace, scene.lease(held));
        const { delivery } = expectOutcome(outcome, "renewed");
        expect(delivery).toEqual({ ...held.delivery, leaseUntil: scene.now + LEASE_MS });
        expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
        expect((await scene.due()).due).toEqual([]);
      },
    );

    it.for(LOST_LEASES)("does not renew a lease %s [DLV-6]", async ([_case, lose], { scene }) => {
      const held = await scene.underWay();
      const lease = await lose(scene, held);
      const outcome = await scene.unchanged(() => scene.store.renewLease(scene.workspace, lease));
      const delivery = await scene.deliveryNow(held.delivery.id);
      expect(outcome).toEqual({ kind: "lease_lost", delivery });
    });

    it("returns `lease_lost` for an unknown delivery [DLV-6]", async ({ scene }) => {
      const lease = { delivery: "dlv_unknown", fence: 1, envelope: "", leaseMs: LEASE_MS };
      expect(await scene.store.renewLease(scene.workspace, lease)).toEqual({
        kind: "lease_lost",
        delivery: undefined,
      });
    });
  });

  describe("the maximum hold time", () => {
    const HOLD = { holdMs: LEASE_MS + 500 };

    it("limits a longer lease, counted from the claim [DLV-6]", async ({ scene }) => {
      await scene.send();
      const { delivery } = await scene.claimOne("ben", { leaseMs: 2 * LEASE_MS, ...HOLD });
      const until = scene.now + HOLD.holdMs;
      expect(delivery).toMatchObject({ leaseUntil: until, holdUntil: until });
    });

    it.for<[string, (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<unknown>]>([
      ["a renewal", (scene, held) => scene.store.renewLease(scene.workspace, scene.lease(held))],
      ["a note", (scene, held) => scene.append(scene.record("ben"), { lease: scene.lease(held) })],
      [
        "a renewal of its session",
        ({ store, workspace }) =>
          store.renewSession({ workspace, agent: "ben", instance: "ben-1" }, LEASE_MS),
      ],
      ["its acceptance", (scene, held) => accept(scene, held)],
    ])("is not extended by %s [DLV-6]", async ([_case, renew], { scene }) => {
      await scene.send();
      const held = await scene.claimOne("ben", HOLD);
      scene.clock.advance(499);
      await renew(scene, held);
      const before = await scene.deliveryNow(held.delivery.id);
      expect(before.leaseUntil).toBe(scene.now + LEASE_MS);
      scene.clock.advance(501);
      if (before.state === "claimed") await renew(scene, held);
      else await scene.store.renewLease(scene.workspace, scene.lease(held));
      const { holdUntil } = held.delivery;
      const after = await scene.deliveryNow(held.delivery.id);
      expect(after).toMatchObject({ leaseUntil: holdUntil, holdUntil });
      scene.clock.set(holdUntil);
      const outcome = await scene.store.renewLease(scene.workspace, scene.lease(held));
      expect(outcome).toEqual({ kind: "lease_lost", delivery: after });
    });

    it("limits work that is claimed and accepted in one operation [DLV-6]", async ({ scene }) => {
      await scene.send();
      const { delivery } = await scene.acceptOne("ben", { holdMs: 5 });
      expect(delivery).toMatchObject({ leaseUntil: scene.now + 5, holdUntil: scene.now + 5 });
    });

    it("starts again for the next holder [DLV-6]", async ({ scene }) => {
      await scene.send();
      await scene.claimOne("ben", { holdMs: 5 });
      scene.clock.advance(5);
      await scene.takeBack();
      expect((await scene.claimOne("ben", HOLD)).delivery).toMatchObject({
        leaseUntil: scene.now + LEASE_MS,
        holdUntil: scene.now + HOLD.holdMs,
      });
    });
  });

  describe("writing under a lease", () => {
    it("renews the lease and returns the current envelope [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      scene.clock.advance(LEASE_MS - 1);
      const outcome = await scene.append(scene.record("ben"), { lease: scene.lease(held) });
      expect(expectOutcome(outcome, "appended").envelope).toBe(held.envelope.id);
      expect(await scene.deliveryNow(held.delivery.id)).toEqual({
        ...held.delivery,
        leaseUntil: scene.now + LEASE_MS,
      });
    });

    it.for(LOST_LEASES)(
      "is refused %s and stores nothing [DLV-6]",
      async ([_case, lose], { scene }) => {
        const held = await scene.underWay();
        const lease = await lose(scene, held);
        const outcome = await scene.unchanged(() => scene.append(scene.record("ben"), { lease }));
        const delivery = await scene.deliveryNow(held.delivery.id);
        expect(outcome).toEqual({ kind: "lease_lost", delivery });
      },
    );

    it("does not renew the lease when a memory is refused", async ({ scene }) => {
      const held = await scene.underWay();
      scene.clock.advance(10);
      const list = [
        scene.record("ben"),
        scene.record("ben", { content: "see", refs: [UNKNOWN_MEMORY] }),
      ];
      for (const memories of [list, list.slice(1)]) {
        const outcome = await scene.unchanged(() =>
          scene.append(memories, { lease: scene.lease(held) }),
        );
        expect(outcome).toMatchObject({ kind: "missing_reference" });
      }
    });
  });
}

function accept(
  scene: Scene,
  claimed: DeliveryWithEnvelopeRow,
  lease: Lease = scene.lease(claimed),
) {
  const { store, workspace, branch } = scene;
  const memory = scene.continuing(claimed);
  return store.acceptDelivery({ workspace, branch, lease, memory });
}
