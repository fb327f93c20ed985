/**
 * Tests of `sendHandoff()`: the memory, envelope, delivery and event are stored together with the
 * settlement of the sender's own work, or not at all.
 */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import type { SendHandoff } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import { ATTEMPTS, FAILED, type HandoffInput } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = { workspace: "elsewhere" };
const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";

/** Handoffs that are refused, with the expected outcome. */
const REFUSED: readonly [string, string, (scene: Scene) => Promise<SendHandoff>][] = [
  ["to an unknown agent", "unknown_receiver", async (scene) => scene.handoff({ to: "nobody" })],
  [
    "to an alias instead of the canonical id",
    "unknown_receiver",
    async (scene) => {
      await scene.register("ben", { aliases: ["b"] });
      return scene.handoff({ to: "b" });
    },
  ],
  [
    "to a disabled agent",
    "receiver_disabled",
    async (scene) => {
      await scene.register("ben", { status: "disabled" });
      return scene.handoff();
    },
  ],
  [
    "whose parent does not exist",
    "missing_parent",
    async (scene) => scene.handoff({ parents: [NO_ENVELOPE] }),
  ],
  [
    "whose second parent does not exist",
    "missing_parent",
    async (scene) => {
      const { delivery } = await scene.send({ task: "other" });
      return scene.handoff({ parents: [delivery.envelope, NO_ENVELOPE] });
    },
  ],
  [
    "whose parent is in another workspace",
    "missing_parent",
    async (scene) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE.workspace);
      const there = await scene.send({ where: ELSEWHERE });
      return scene.handoff({ parents: [there.delivery.envelope] });
    },
  ],
  ["from an unknown agent", "unknown_agent", async (scene) => scene.handoff({ from: "nobody" })],
  [
    "from a disabled agent",
    "agent_disabled",
    async (scene) => {
      await scene.register("ada", { status: "disabled" });
      return scene.handoff();
    },
  ],
  [
    "without the signature of a sender with a key",
    "key_changed",
    async (scene) => {
      await scene.register("ada", { publicKey: signerOf(generateKey()).publicKey });
      return scene.handoff();
    },
  ],
  [
    "with an unknown reference",
    "missing_reference",
    async (scene) => scene.handoff({ refs: [UNKNOWN_MEMORY] }),
  ],
  [
    "whose memory has an id that is taken",
    "id_taken",
    async (scene) => {
      const { id } = expectSingle(await scene.remember([scene.record("ada")]));
      const handoff = scene.handoff();
      return { ...handoff, memory: { ...handoff.memory, id } };
    },
  ],
  [
    "whose envelope has an id that is taken",
    "id_taken",
    async (scene) => {
      const { delivery } = await scene.send({ task: "other" });
      const handoff = scene.handoff();
      return { ...handoff, envelope: { ...handoff.envelope, id: delivery.envelope } };
    },
  ],
  [
    "whose delivery has an id that is taken",
    "id_taken",
    async (scene) => {
      const { delivery } = await scene.send({ task: "other" });
      const handoff = scene.handoff();
      const deliveries = handoff.deliveries.map((each) => ({ ...each, id: delivery.id }));
      return { ...handoff, deliveries };
    },
  ],
  [
    "that repeats open work without extending it",
    "changed",
    async (scene) => {
      await scene.send();
      return scene.handoff();
    },
  ],
  [
    "that extends work of another task",
    "changed",
    async (scene) => {
      const other = await scene.send({ task: "other" });
      return scene.handoff({ extend: scene.extending(other) });
    },
  ],
];

/** Handoffs that settle work their sender does not hold, with the expected outcome. */
const NOT_HELD: readonly [string, string, (scene: Scene) => Promise<SendHandoff>][] = [
  [
    "with an older fence",
    "lease_lost",
    async (scene) => {
      const held = await scene.underWay();
      const handoff = scene.handoff({ from: "ben", to: "cyd", settles: held });
      return { ...handoff, settles: scene.lease(held, { fence: held.delivery.fence - 1 }) };
    },
  ],
  [
    "whose lease has expired",
    "lease_lost",
    async (scene) => {
      const held = await scene.underWay();
      scene.clock.set(held.delivery.leaseUntil);
      return scene.handoff({ from: "ben", to: "cyd", settles: held });
    },
  ],
  [
    "that was settled before",
    "lease_lost",
    async (scene) => {
      const held = await scene.underWay();
      await scene.settle(held, { kind: "completed" });
      return scene.handoff({ from: "ben", to: "cyd", settles: held });
    },
  ],
  [
    "that its sender has extended",
    "extended",
    async (scene) => {
      const held = await scene.underWay();
      await scene.send({ extend: scene.extending(held) });
      return scene.handoff({ from: "ben", to: "cyd", settles: held });
    },
  ],
];

export function sending(it: SceneTest): void {
  describe("sending a handoff", () => {
    it("stores the memory, envelope, delivery and event together [DLV-1]", async ({ scene }) => {
      const { store, workspace, now: sentAt } = scene;
      const known = expectSingle(await scene.remember([scene.record("ada")]));
      const handoff = scene.handoff({ refs: [known.id], attempts: 5 });
      const { deliveries, ...sent } = expectOutcome(await store.sendHandoff(handoff), "sent");
      const delivery = expectSingle(deliveries);
      const { id, task, sender, text } = handoff.envelope;
      expect(sent).toMatchObject({ place: { id: handoff.memory.id, seq: 2 }, superseded: "" });
      expect(delivery).toEqual({
        id: expectSingle(handoff.deliveries).id,
        envelope: id,
        task,
        sender,
        receiver: "ben",
        parent: "",
        state: "ready",
        place: delivery.place,
        inTurn: true,
        attempt: 0,
        maxAttempts: 5,
        fence: 0,
        leaseUntil: 0,
        holdUntil: 0,
        readyAt: 0,
        deadline: 0,
        lapseAt: 0,
        sentAt,
        seenAt: 0,
        acceptedAt: 0,
        settledAt: 0,
        holder: "",
        instance: "",
        process: "",
        acceptedBy: "",
        settledBy: "",
        followers: "",
      });
      const found = await store.findDelivery(workspace, delivery.id);
      expect(found?.delivery).toEqual(delivery);
      const memory = handoff.memory.id;
      expect(found?.envelope).toMatchObject({ id, task, sender, text, memory, storedAt: sentAt });
      expect(await store.readMemories(workspace, [memory])).toMatchObject([
        { text: handoff.memory.text, link: sent.place.link },
      ]);
      expect(await store.readEvents(workspace, 0, 10)).toMatchObject([
        { kind: "sent", at: sentAt, agent: "ada", task, delivery: delivery.id, envelope: id },
      ]);
    });

    it("relates its memory to the memories it summarizes [DLV-10]", async ({ scene }) => {
      const { store, workspace } = scene;
      const known = expectSingle(await scene.remember([scene.record("ada")]));
      const { place } = await scene.send({ refs: [known.id] });
      const edges = await store.findRelations({
        workspace,
        memory: known.id,
        direction: "in",
        sight: publicVisibility(scene.branch),
        limit: 10,
      });
      expect(edges).toMatchObject([{ kind: "summarizes", source: place.id }]);
    });

    it.for(REFUSED)(
      "refuses a handoff %s (%s) and stores nothing [DLV-1]",
      async ([_case, kind, make], { scene }) => {
        const handoff = await make(scene);
        const outcome = await scene.unchanged(() => scene.store.sendHandoff(handoff));
        expect(outcome).toMatchObject({ kind });
      },
    );

    it("accepts ids that exist in another workspace, and keeps the two apart", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE.workspace);
      const handoff = scene.handoff();
      const here = expectSingle(expectOutcome(await store.sendHandoff(handoff), "sent").deliveries);
      const elsewhere = await store.sendHandoff({ ...handoff, ...ELSEWHERE });
      const there = expectSingle(expectOutcome(elsewhere, "sent").deliveries);
      const { id } = here;
      expect(there).toEqual({ ...here, place: there.place });
      const held = await scene.acceptOne("ben");
      const lost = await store.renewLease(ELSEWHERE.workspace, scene.lease(held));
      expect(lost).toEqual({ kind: "lease_lost", delivery: there });
      await scene.settle(held, FAILED);
      expect(await store.readAttempts(workspace, id)).toHaveLength(1);
      expect(await store.readAttempts(ELSEWHERE.workspace, id)).toEqual([]);
      expect(await scene.deliveryNow(id, ELSEWHERE.workspace)).toEqual(there);
      const [line] = await store.readLine(ELSEWHERE.workspace, "task");
      expect(line?.deliveries).toEqual([there]);
    });

    it("names the receiver or parent in a refusal [ENV-5]", async ({ scene }) => {
      const { store } = scene;
      expect(await store.sendHandoff(scene.handoff({ to: "nobody" }))).toEqual({
        kind: "unknown_receiver",
        receiver: "nobody",
      });
      expect(await store.sendHandoff(scene.handoff({ parents: [NO_ENVELOPE] }))).toEqual({
        kind: "missing_parent",
        envelope: NO_ENVELOPE,
      });
    });

    it("sends handoffs while concurrent ones are refused [DLV-1]", async ({ scene }) => {
      const handoffs = [
        scene.handoff({ task: "one" }),
        scene.handoff({ task: "two", refs: [UNKNOWN_MEMORY] }),
        scene.handoff({ task: "three", to: "nobody" }),
        scene.handoff({ task: "four" }),
      ];
      const outcomes = await Promise.all(handoffs.map((each) => scene.store.sendHandoff(each)));
      expect(outcomes.map((outcome) => outcome.kind)).toEqual([
        "sent",
        "missing_reference",
        "unknown_receiver",
        "sent",
      ]);
      expect(await scene.totals()).toEqual({ ready: 2 });
    });

    it("completes the sender's own work in the same operation when it hands on [DLV-1]", async ({
      scene,
    }) => {
      const held = await scene.underWay();
      scene.clock.advance(10);
      const sent = await scene.send({ from: "ben", to: "cyd", settles: held });
      expect(sent.delivery).toMatchObject({ state: "ready", parent: held.envelope.id });
      expect(await scene.deliveryNow(held.delivery.id)).toEqual({
        ...held.delivery,
        state: "completed",
        leaseUntil: 0,
        holdUntil: 0,
        settledAt: sent.place.storedAt,
        settledBy: sent.place.id,
      });
      expect(await scene.history()).toEqual(["sent", "accepted", "completed", "sent"]);
      expect(await scene.store.readAttempts(scene.workspace, held.delivery.id)).toEqual([]);
    });

    it.for(NOT_HELD)(
      "refuses to hand on work %s (%s) and stores nothing [DLV-6]",
      async ([_case, kind, make], { scene }) => {
        const handoff = await make(scene);
        const outcome = await scene.unchanged(() => scene.store.sendHandoff(handoff));
        expect(outcome).toMatchObject({ kind });
      },
    );

    it("refuses to hand on work that was only claimed [DLV-6]", async ({ scene }) => {
      await scene.send();
      const claimed = await scene.claimOne("ben");
      const handoff = scene.handoff({ from: "ben", to: "cyd", settles: claimed });
      const outcome = await scene.unchanged(() => scene.store.sendHandoff(handoff));
      expect(outcome).toMatchObject({ kind: "lease_lost" });
    });

    it.for<[string, string, HandoffInput]>([
      ["unknown", "unknown_receiver", { to: "nobody" }],
      ["disabled", "receiver_disabled", { to: "cyd" }],
    ])(
      "leaves the work with its holder when the next receiver is %s [DLV-1]",
      async ([_case, kind, change], { scene }) => {
        await scene.register("cyd", { status: "disabled" });
        const held = await scene.underWay();
        const handoff = scene.handoff({ from: "ben", settles: held, ...change });
        const outcome = await scene.unchanged(() => scene.store.sendHandoff(handoff));
        expect(outcome).toMatchObject({ kind });
        await scene.settle(held, { kind: "completed" });
      },
    );

    it("reads a line in the order it was sent, each envelope with its deliveries [ENV-6]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const first = await scene.underWay({ task: "line" });
      await scene.send({ task: "other" });
      const second = await scene.send({ from: "ben", to: "cyd", task: "line", settles: first });
      const line = await store.readLine(workspace, "line");
      expect(line.map(({ envelope }) => envelope.id)).toEqual([
        first.envelope.id,
        second.delivery.envelope,
      ]);
      expect(line[0]).toMatchObject({
        envelope: first.envelope,
        deliveries: [{ id: first.delivery.id, state: "completed" }],
      });
      expect(line[1]?.deliveries).toEqual([second.delivery]);
      expect(await store.readLine(workspace, "nothing")).toEqual([]);
      expect(await store.readLine("elsewhere", "line")).toEqual([]);
    });

    it("leaves a memory of type handoff without an envelope out of the line [ENV-6]", async ({
      scene,
    }) => {
      await scene.send({ task: "line" });
      const input = { type: "handoff", task: "line", content: "told in the corridor" };
      await scene.remember([scene.record("ada", input)]);
      expect(await scene.store.readLine(scene.workspace, "line")).toHaveLength(1);
    });

    it("includes handoffs of other branches in the line of their task [ENV-6]", async ({
      scene,
    }) => {
      const first = await scene.send({ to: "ben", where: { branch: "side" } });
      const second = await scene.send({ to: "cyd" });
      const line = await scene.store.readLine(scene.workspace, "task");
      expect(line.map(({ envelope }) => envelope.id)).toEqual([
        first.delivery.envelope,
        second.delivery.envelope,
      ]);
    });

    it("keeps an acknowledged handoff after reopening, ready to be claimed [DLV-1]", async ({
      scene,
    }) => {
      const sent = await scene.send();
      const before = await scene.picture();
      await scene.reopen();
      expect(await scene.picture()).toEqual(before);
      const { delivery } = await scene.claimOne("ben");
      expect(delivery).toMatchObject({ id: sent.delivery.id, maxAttempts: ATTEMPTS });
    });
  });
}
