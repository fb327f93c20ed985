/**
 * Tests of `settleDelivery()`: the state, memory, event and attempt that a settlement leaves, and
 * that it happens once.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type DeliveryState, isOpen } from "../../../src/store/rows.ts";
import type {
  DeliveryWithEnvelopeRow,
  SettleDelivery,
  Settlement,
} from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import {
  ATTEMPTS,
  FAILED,
  failedWithDelay,
  HOLD_MS,
  RELEASED,
  RELEASED_UNCOUNTED,
} from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
const REASON = '{"message":"no luck"}';

interface Ending {
  readonly settlement: Settlement;
  readonly state: DeliveryState;
  readonly event: string;
}

const ENDINGS: readonly Ending[] = [
  { settlement: { kind: "completed" }, state: "completed", event: "completed" },
  { settlement: { kind: "declined" }, state: "declined", event: "declined" },
  { settlement: { kind: "asked" }, state: "waiting", event: "asked" },
  { settlement: { kind: "failed", becomes: "dead" }, state: "dead", event: "dead" },
  {
    settlement: failedWithDelay(250),
    state: "scheduled",
    event: "failed",
  },
  { settlement: RELEASED, state: "ready", event: "released" },
  { settlement: RELEASED_UNCOUNTED, state: "ready", event: "released" },
  {
    settlement: { ...failedWithDelay(250), kind: "released" },
    state: "scheduled",
    event: "released",
  },
  { settlement: { kind: "released", becomes: "dead" }, state: "dead", event: "dead" },
];

/** Settlements whose attempt does not count, so that one more is allowed. */
const FREE: readonly Settlement[] = ENDINGS.map(({ settlement }) => settlement).filter(
  (each) => each === RELEASED_UNCOUNTED || each.kind === "asked",
);

export function settling(it: SceneTest): void {
  describe("settling", () => {
    it.for(ENDINGS)(
      "moves $settlement.kind work to $state and writes its memory and event [DLV-12]",
      async ({ settlement, state, event }, { scene }) => {
        const held = await scene.underWay();
        scene.clock.advance(7);
        const operation = scene.settlement(held, settlement, { reason: REASON });
        const { delivery } = expectOutcome(await scene.store.settleDelivery(operation), "settled");
        expect(delivery).toEqual({
          ...held.delivery,
          state,
          leaseUntil: 0,
          holdUntil: 0,
          maxAttempts: ATTEMPTS + (FREE.includes(settlement) ? 1 : 0),
          readyAt: state === "scheduled" ? scene.now + 250 : 0,
          settledAt: isOpen(state) ? 0 : scene.now,
          settledBy: operation.memory?.id ?? "",
        });
        expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
        const [newest] = await scene.everything();
        expect(newest?.id).toBe(operation.memory?.id ?? held.delivery.acceptedBy);
        const { store, workspace } = scene;
        const last = (await store.readEvents(workspace, 0, 10)).at(-1);
        expect(last).toMatchObject({
          kind: event,
          agent: "ben",
          delivery: delivery.id,
          attempt: 1,
        });
      },
    );

    it.for(ENDINGS)(
      "records the attempt of $settlement.kind work that becomes $state unless it completed [DLV-7]",
      async ({ settlement }, { scene }) => {
        const held = await scene.underWay();
        scene.clock.advance(7);
        await scene.settle(held, settlement, REASON);
        const attempts = await scene.store.readAttempts(scene.workspace, held.delivery.id);
        const expected = {
          delivery: held.delivery.id,
          attempt: 1,
          holder: "ben",
          instance: "ben-1",
          endedAt: scene.now,
          outcome: settlement.kind,
          reason: REASON,
        };
        expect(attempts).toEqual(settlement.kind === "completed" ? [] : [expected]);
      },
    );

    it("accepts a failure without a memory", async ({ scene }) => {
      const held = await scene.underWay();
      const { memory: _, ...operation } = scene.settlement(held, {
        kind: "failed",
        becomes: "dead",
      });
      const { delivery } = expectOutcome(await scene.store.settleDelivery(operation), "settled");
      expect(delivery).toMatchObject({ settledAt: scene.now, settledBy: "" });
      expect(await scene.everything()).toHaveLength(2);
    });

    it("declines or releases an offer that was not accepted", async ({ scene }) => {
      await scene.send();
      await scene.settle(await scene.claimOne("ben"), RELEASED);
      const again = await scene.claimOne("ben");
      expect(again.delivery).toMatchObject({ attempt: 2, fence: 2 });
      await scene.settle(again, { kind: "declined" });
      expect(await scene.totals()).toEqual({ declined: 1 });
    });

    it("refuses a settlement in a state that is not listed in `from` [DLV-12]", async ({
      scene,
    }) => {
      await scene.send();
      const claimed = await scene.claimOne("ben");
      const operation = scene.settlement(claimed, { kind: "completed" }, { from: ["accepted"] });
      const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
      expect(outcome).toEqual({ kind: "lease_lost", delivery: claimed.delivery });
    });

    it.for<
      [string, (scene: Scene, held: DeliveryWithEnvelopeRow) => Promise<Partial<SettleDelivery>>]
    >([
      [
        "with an older fence",
        async (scene, held) => ({ lease: scene.lease(held, { fence: held.delivery.fence - 1 }) }),
      ],
      [
        "after the lease expired",
        async (scene, held) => {
          scene.clock.set(held.delivery.leaseUntil);
          return {};
        },
      ],
      [
        "after another session accepted the work",
        async (scene, held) => {
          scene.clock.set(held.delivery.leaseUntil);
          await scene.takeBack();
          await scene.acceptOne("ben", { instance: "ben-2" });
          return {};
        },
      ],
      [
        "after the work was completed",
        async (scene, held) => {
          await scene.settle(held, { kind: "completed" });
          return {};
        },
      ],
      [
        "after the work was handed on",
        async (scene, held) => {
          await scene.send({ from: "ben", to: "cyd", settles: held });
          return {};
        },
      ],
    ])("refuses a settlement %s [DLV-6]", async ([_case, lose], { scene }) => {
      const held = await scene.underWay();
      const operation = scene.settlement(held, { kind: "completed" }, await lose(scene, held));
      const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
      const delivery = await scene.deliveryNow(held.delivery.id);
      expect(outcome).toEqual({ kind: "lease_lost", delivery });
    });

    it("refuses to settle an unknown delivery [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      const lease = scene.lease(held, { delivery: "dlv_unknown" });
      const operation = scene.settlement(held, { kind: "completed" }, { lease });
      expect(await scene.store.settleDelivery(operation)).toEqual({
        kind: "lease_lost",
        delivery: undefined,
      });
    });

    it("accepts exactly one of several concurrent settlements [DLV-6]", async ({ scene }) => {
      const held = await scene.underWay();
      const settlements: Settlement[] = [{ kind: "completed" }, { kind: "declined" }, FAILED];
      const outcomes = await Promise.all(
        settlements.map((each) => scene.store.settleDelivery(scene.settlement(held, each))),
      );
      expect(outcomes.map((outcome) => outcome.kind)).toEqual([
        "settled",
        "lease_lost",
        "lease_lost",
      ]);
      expect(await scene.totals()).toEqual({ completed: 1 });
    });

    it.for(["unknown_agent", "agent_disabled", "missing_reference", "id_taken"] as const)(
      "leaves the work with its holder when a memory is refused with %s [DLV-1]",
      async (kind, { scene }) => {
        const known = expectSingle(await scene.remember([scene.record("ada")]));
        await scene.register("dot", { status: "disabled" });
        const held = await scene.underWay();
        const memory = {
          unknown_agent: () => scene.record("nobody"),
          agent_disabled: () => scene.record("dot"),
          missing_reference: () => scene.record("ben", { content: "see", refs: [UNKNOWN_MEMORY] }),
          id_taken: () => scene.record("ben", { content: "again", id: known.id }),
        }[kind]();
        const operation = scene.settlement(held, { kind: "completed" }, { memory });
        const outcome = await scene.unchanged(() => scene.store.settleDelivery(operation));
        expect(outcome).toMatchObject({ kind });
        await scene.settle(held, { kind: "completed" });
      },
    );
  });

  describe("asking the sender", () => {
    it("makes the work wait without a lease and without being offered [DLV-11]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const held = await scene.underWay({ attempts: 1 });
      const { delivery } = await scene.settle(held, { kind: "asked" }, REASON);
      expect(delivery).toMatchObject({
        state: "waiting",
        attempt: 1,
        maxAttempts: 2,
        holder: "ben",
      });
      expect((await scene.claim("ben", { delivery: delivery.id })).claimed).toEqual([]);
      expect((await scene.claim("ben", { limit: 5 })).claimed).toEqual([]);
      expect((await scene.claim("ben")).nextDueMs).toBe(Number.POSITIVE_INFINITY);
      expect(await store.renewLease(workspace, scene.lease(held))).toEqual({
        kind: "lease_lost",
        delivery,
      });
      scene.clock.advance(HOLD_MS);
      expect((await scene.due({ gone: [""] })).due).toEqual([]);
    });

    it("wakes the sender, and accepts its extension of the waiting work [DLV-11 ENV-11]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const held = await scene.underWay();
      let calls = 0;
      store.onWake({ workspace, agent: "ada" }, () => {
        calls++;
      });
      const asked = await scene.settle(held, { kind: "asked" });
      await turn();
      expect(calls).toBeGreaterThan(0);
      const again = await scene.send({ extend: scene.extending(asked) });
      expect(again.delivery).toMatchObject({ id: held.delivery.id, state: "waiting" });
      expect(again.superseded).toBe("");
    });

    it("replaces the decision time with the deadline [DLV-2]", async ({ scene }) => {
      const deadline = scene.now + 9_000;
      await scene.send({ deadline, lapseMs: 10 });
      const { delivery } = await scene.settle(await scene.claimOne("ben"), { kind: "asked" });
      expect(delivery.lapseAt).toBe(deadline);
    });
  });

  describe("attempts that do not count", () => {
    it("allow one more attempt after each release [DLV-7]", async ({ scene }) => {
      await scene.send({ attempts: 1 });
      for (let i = 1; i <= 5; i++) {
        const { delivery } = await scene.settle(await scene.claimOne("ben"), RELEASED_UNCOUNTED);
        expect(delivery).toMatchObject({ state: "ready", attempt: i, maxAttempts: 1 + i });
      }
      const { delivery } = await scene.settle(await scene.claimOne("ben"), RELEASED);
      expect(delivery).toMatchObject({ attempt: 6, maxAttempts: 6 });
    });
  });

  describe("the decision time after a settlement", () => {
    it.for<[string, Settlement]>([
      ["released", { ...RELEASED, lapseMs: 700 }],
      ["released with a delay", { ...failedWithDelay(5), kind: "released", lapseMs: 700 }],
      ["failed", { ...failedWithDelay(5), lapseMs: 700 }],
    ])(
      "is set anew for %s work, at most to its deadline [DLV-2]",
      async ([_case, settlement], { scene }) => {
        const deadline = scene.now + 9_000;
        await scene.send({ lapseMs: 100, task: "without" });
        await scene.send({ lapseMs: 100, task: "with", deadline });
        const settled = async (task: string, change: object) => {
          scene.clock.advance(10);
          const held = await scene.acceptOne("ben", { task });
          return (await scene.settle(held, { ...settlement, ...change })).delivery.lapseAt;
        };
        expect(await settled("without", {})).toBe(scene.now + 700);
        expect(await settled("with", {})).toBe(scene.now + 700);
        expect(await settled("without", { lapseMs: 0 })).toBe(0);
        expect(await settled("with", { lapseMs: 0 })).toBe(deadline);
        expect(await settled("with", { lapseMs: 99_000 })).toBe(deadline);
      },
    );
  });
}
