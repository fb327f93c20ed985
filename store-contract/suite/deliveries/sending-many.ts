/** Tests of `sendHandoffs()`: all handoffs are sent, in their order, or none of them. */
import { describe, expect } from "vitest";
import { IGNORE_BREAKER, type SendHandoff } from "../../../src/store/store.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";

const entryNamed = (name: string) => ({ kind: "key", name, value: `"${name}"`, basedOn: 0 });

/** A handoff of a batch that is refused, with the expected outcome. */
const REFUSED: readonly [string, object, (scene: Scene) => Promise<SendHandoff>][] = [
  [
    "has an unknown receiver",
    { kind: "unknown_receiver", receiver: "nobody" },
    async (scene) => scene.handoff({ to: "nobody", task: "bad" }),
  ],
  [
    "continues an unknown envelope",
    { kind: "missing_parent", envelope: NO_ENVELOPE },
    async (scene) => scene.handoff({ task: "bad", parents: [NO_ENVELOPE] }),
  ],
  [
    "uses an idempotency key again",
    { kind: "entry_changed", entry: { value: "1" } },
    async (scene) => {
      await scene.put("key", "k", "1");
      const entries = [{ kind: "key", name: "k", value: "2", basedOn: 0 }];
      return scene.handoff({ task: "bad", entries });
    },
  ],
  [
    "would extend open work that its sender does not know",
    { kind: "changed", open: { delivery: { task: "bad" } } },
    async (scene) => {
      await scene.send({ task: "bad" });
      return scene.handoff({ task: "bad" });
    },
  ],
  [
    "goes to a receiver with an open breaker",
    { kind: "breaker_changed", entry: { kind: "breaker", name: "cyd" } },
    async (scene) => {
      await scene.put("breaker", "cyd", "{}");
      return scene.handoff({ to: "cyd", task: "bad" });
    },
  ],
  [
    "has an id that is taken",
    { kind: "id_taken" },
    async (scene) => {
      const { delivery } = await scene.send({ task: "earlier" });
      const handoff = scene.handoff({ task: "bad" });
      return { ...handoff, deliveries: [{ ...expectSingle(handoff.deliveries), id: delivery.id }] };
    },
  ],
];

export function sendingMany(it: SceneTest): void {
  describe("sending several handoffs together", () => {
    it("sends all of them in their order, in one operation [DLV-1 DLV-20]", async ({ scene }) => {
      const { store } = scene;
      const handoffs = ["one", "two", "three"].map((task) => scene.handoff({ task }));
      const { sent } = expectOutcome(await store.sendHandoffs(handoffs), "sent");
      expect(sent.map(({ place }) => place.id)).toEqual(handoffs.map(({ memory }) => memory.id));
      const [first = 0] = sent.map(({ place }) => place.seq);
      expect(sent.map(({ place }) => place.seq)).toEqual([first, first + 1, first + 2]);
      const sentIds = sent.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
      expect(sentIds).toEqual(handoffs.flatMap(({ deliveries }) => deliveries.map(({ id }) => id)));
      expect(await scene.history()).toEqual(["sent", "sent", "sent"]);
      const { claimed } = await scene.claim("ben", { limit: 3 });
      expect(claimed.map(({ delivery }) => delivery.task)).toEqual(["one", "two", "three"]);
    });

    it("combines handoffs to one agent, to a role and to several agents [DLV-3 DLV-20]", async ({
      scene,
    }) => {
      await scene.register("dot", { role: "coder" });
      const publication = scene.publication(["ben", "cyd"], { task: "news" });
      const { sent } = expectOutcome(
        await scene.store.sendHandoffs([
          scene.handoff({ task: "one" }),
          { ...publication, breaker: IGNORE_BREAKER },
          scene.handoff({ to: "role:coder", task: "one" }),
        ]),
        "sent",
      );
      expect(sent.map(({ deliveries }) => deliveries.map(({ receiver }) => receiver))).toEqual([
        ["ben"],
        ["ben", "cyd"],
        ["role:coder"],
      ]);
      expect(await scene.everything()).toHaveLength(3);
    });

    it("extends the open work of each, and writes its entries [DLV-2 DLV-20]", async ({
      scene,
    }) => {
      const waiting = await scene.send({ task: "waiting" });
      const outcome = await scene.store.sendHandoffs([
        scene.handoff({ task: "new", entries: [entryNamed("a")] }),
        scene.handoff({
          task: "waiting",
          extend: scene.extending(waiting),
          entries: [entryNamed("b")],
        }),
      ]);
      const { sent } = expectOutcome(outcome, "sent");
      expect(sent.map(({ superseded }) => superseded)).toEqual(["", waiting.delivery.id]);
      expect((await scene.deliveryNow(waiting.delivery.id)).state).toBe("superseded");
      for (const name of ["a", "b"]) {
        const entry = await scene.store.findEntry(scene.workspace, "key", name);
        expect(entry).toMatchObject({ value: `"${name}"`, revision: 1 });
      }
    });

    it.for(REFUSED)(
      "sends none of them if one %s, and says which [DLV-1 DLV-20]",
      async ([_case, refusal, make], { scene }) => {
        const bad = await make(scene);
        const handoffs = [scene.handoff({ task: "one" }), bad, scene.handoff({ task: "three" })];
        const outcome = await scene.unchanged(() => scene.store.sendHandoffs(handoffs));
        expect(outcome).toMatchObject({ kind: "refused", refused: [{ index: 1, refusal }] });
      },
    );

    it("says of each refused handoff why, in their order [DLV-20]", async ({ scene }) => {
      await scene.send({ task: "waiting" });
      const handoffs = [
        scene.handoff({ to: "nobody", task: "one" }),
        scene.handoff({ task: "two" }),
        scene.handoff({ task: "waiting" }),
        scene.handoff({ task: "four", parents: [NO_ENVELOPE] }),
      ];
      const outcome = await scene.unchanged(() => scene.store.sendHandoffs(handoffs));
      expect(outcome).toMatchObject({
        kind: "refused",
        refused: [
          { index: 0, refusal: { kind: "unknown_receiver" } },
          { index: 2, refusal: { kind: "changed" } },
          { index: 3, refusal: { kind: "missing_parent" } },
        ],
      });
    });

    it("keeps a refused batch apart from what is sent beside it [DLV-1 DLV-20]", async ({
      scene,
    }) => {
      const { store } = scene;
      const bad = [scene.handoff({ task: "one" }), scene.handoff({ to: "nobody", task: "two" })];
      const good = [scene.handoff({ task: "three" }), scene.handoff({ task: "four" })];
      const outcomes = await Promise.all([
        store.sendHandoff(scene.handoff({ task: "zero" })),
        store.sendHandoffs(bad),
        store.sendHandoffs(good),
        store.sendHandoff(scene.handoff({ task: "five" })),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["sent", "refused", "sent", "sent"]);
      expect(outcomes[1]).toMatchObject({
        refused: [{ index: 1, refusal: { kind: "unknown_receiver" } }],
      });
      const lines = ["zero", "one", "two", "three", "four", "five"].map(async (task) => {
        return (await store.readLine(scene.workspace, task)).length;
      });
      expect(await Promise.all(lines)).toEqual([1, 0, 0, 1, 1, 1]);
    });
  });
}
