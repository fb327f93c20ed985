/** Tests of refused moves: the delivery has changed since it was seen, or the move is invalid. */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import type { DeliveryRow } from "../../../src/store/rows.ts";
import type { Move, MoveDeliveries } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { LEASE_MS } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";
import { attemptEnd, expectRefusedMove, NO_ENVELOPE } from "./move-fixtures.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

/** Differences between the delivery and what the caller saw. */
const STALE: readonly [string, Partial<Move["seen"]>][] = [
  ["another state", { state: "ready" }],
  ["an older fence", { fence: 0 }],
  ["a later fence", { fence: 2 }],
  ["another envelope", { envelope: NO_ENVELOPE }],
  ["another end of the lease", { leaseUntil: 1 }],
];

export function refusingMoves(it: SceneTest): void {
  describe("stale and invalid moves", () => {
    it.for(STALE)(
      "refuses a move that expects %s, and returns the current delivery [DLV-6]",
      async ([_case, change], { scene }) => {
        const { delivery } = await scene.underWay();
        const move = scene.moveOf(delivery, {
          to: "ready",
          event: "expired",
          ...attemptEnd("accepted"),
        });
        const stale = { ...move, seen: { ...move.seen, ...change } };
        expect(await expectRefusedMove(scene, scene.moving([stale]))).toEqual({
          kind: "changed",
          delivery,
        });
      },
    );

    it("refuses a move that compares the lease if the holder has renewed it [DLV-6]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.advance(5);
      await scene.append(scene.record("ben"), { lease: scene.lease(held) });
      const move = scene.moveOf(held.delivery, {
        to: "ready",
        event: "expired",
        ...attemptEnd("accepted"),
      });
      const { leaseUntil } = held.delivery;
      const guarded = { ...move, seen: { ...move.seen, leaseUntil } };
      const outcome = await expectRefusedMove(scene, scene.moving([guarded]));
      expect(outcome).toEqual({
        kind: "changed",
        delivery: { ...held.delivery, leaseUntil: scene.now + LEASE_MS },
      });
      const right = { ...move, seen: { ...move.seen, leaseUntil: scene.now + LEASE_MS } };
      await scene.move([right]);
    });

    it("accepts a move that does not compare the lease if the holder has renewed it [DLV-18]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.advance(5);
      await scene.store.renewLease(scene.workspace, scene.lease(held));
      const memory = scene.decision("cancel", [held.delivery]);
      const change = { to: "cancelled", event: "cancelled", ...attemptEnd("accepted") } as const;
      await scene.move([scene.moveOf(held.delivery, change)], { memory });
    });

    it("refuses a move of an unknown delivery, or of one in another workspace [DLV-6]", async ({
      scene,
    }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, "elsewhere");
      const there = await scene.send({ where: { workspace: "elsewhere" } });
      const move = scene.moveOf(there.delivery, { to: "ready", event: "reminded" });
      for (const delivery of [there.delivery.id, "dlv_unknown"]) {
        expect(await expectRefusedMove(scene, scene.moving([{ ...move, delivery }]))).toEqual({
          kind: "changed",
          delivery: undefined,
        });
      }
    });

    it.for<[string, object, (scene: Scene, row: DeliveryRow) => Promise<Partial<MoveDeliveries>>]>([
      [
        "an unknown receiver",
        { kind: "unknown_receiver", receiver: "nobody" },
        async (scene, row) => rerouteChange(scene, row, "nobody"),
      ],
      [
        "a disabled receiver",
        { kind: "receiver_disabled", receiver: "cyd" },
        async (scene, row) => {
          await scene.register("cyd", { status: "disabled" });
          return rerouteChange(scene, row, "cyd");
        },
      ],
      [
        "a role without agents",
        { kind: "unknown_receiver", receiver: "role:coder" },
        async (scene, row) => rerouteChange(scene, row, "role:coder"),
      ],
      [
        "an envelope whose parent does not exist",
        { kind: "missing_parent", envelope: NO_ENVELOPE },
        async (scene, row) =>
          scene.rewriting("answer", row, { parents: [row.envelope, NO_ENVELOPE] }),
      ],
      [
        "an envelope whose id is taken",
        { kind: "id_taken" },
        async (scene, row) => {
          const { memory, envelope } = scene.rewriting("answer", row);
          return { memory, envelope: { ...envelope, id: row.envelope } };
        },
      ],
      [
        "a memory of an unknown agent",
        { kind: "unknown_agent", agent: "nobody" },
        async (scene, row) => ({ memory: scene.decision("answer", [row], { by: "nobody" }) }),
      ],
      [
        "a memory of a disabled agent",
        { kind: "agent_disabled", agent: "ada" },
        async (scene, row) => {
          await scene.register("ada", { status: "disabled" });
          return { memory: scene.decision("answer", [row]) };
        },
      ],
      [
        "an unsigned memory of an agent with a key",
        { kind: "key_changed", agent: "ada" },
        async (scene, row) => {
          await scene.register("ada", { publicKey: signerOf(generateKey()).publicKey });
          return { memory: scene.decision("answer", [row]) };
        },
      ],
      [
        "a memory with an unknown reference",
        { kind: "missing_reference", reference: UNKNOWN_MEMORY },
        async (scene) => ({
          memory: scene.record("ada", { content: "see", refs: [UNKNOWN_MEMORY] }),
        }),
      ],
      [
        "a memory whose id is taken",
        { kind: "id_taken" },
        async (scene) => {
          const { id } = expectSingle(await scene.remember([scene.record("ada")]));
          return { memory: scene.record("ada", { content: "again", id }) };
        },
      ],
    ])("refuses %s and moves nothing [DLV-1]", async ([_case, refusal, makeChange], { scene }) => {
      const { delivery } = await scene.send();
      const move = scene.moveOf(delivery, { to: "scheduled", event: "reminded", delayMs: 5 });
      const change = await makeChange(scene, delivery);
      expect(await expectRefusedMove(scene, scene.moving([move], change))).toMatchObject(refusal);
    });

    it("reports a changed delivery first, then the receiver, parent, memory and envelope [DLV-1]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      const taken = expectSingle(await scene.remember([scene.record("ada")])).id;
      const good = scene.rewriting("reroute", delivery, { to: "cyd" });
      const change = { to: "ready", event: "rerouted", receiver: "nobody" } as const;
      const move = scene.moveOf(delivery, change);
      const parents = [NO_ENVELOPE];
      const kind = async (moves: Move, change: Partial<MoveDeliveries>) =>
        (await expectRefusedMove(scene, scene.moving([moves], change))).kind;
      const memory = scene.record("ada", { content: "again", id: taken });
      const envelope = { ...good.envelope, id: delivery.envelope };
      const stale = { ...move, seen: { ...move.seen, fence: 9 } };
      const allWrong = { memory, envelope: { ...envelope, parents } };
      expect(await kind(stale, allWrong)).toBe("changed");
      expect(await kind(move, allWrong)).toBe("unknown_receiver");
      const known = { ...move, receiver: "cyd" };
      expect(await kind(known, allWrong)).toBe("missing_parent");
      expect(await expectRefusedMove(scene, scene.moving([known], { memory, envelope }))).toEqual({
        kind: "id_taken",
        id: taken,
      });
      const outcome = await expectRefusedMove(scene, scene.moving([known], { ...good, envelope }));
      expect(outcome).toEqual({ kind: "id_taken", id: delivery.envelope });
    });
  });
}

/** Returns a change of the whole operation that moves a delivery to another receiver. */
function rerouteChange(scene: Scene, row: DeliveryRow, receiver: string): Partial<MoveDeliveries> {
  const move = scene.moveOf(row, { to: "ready", event: "rerouted", receiver });
  return { moves: [move], memory: scene.decision("reroute", [row], { to: receiver }) };
}
