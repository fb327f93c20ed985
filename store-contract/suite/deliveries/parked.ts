/** Tests of `listParked()`, which lists dead letters and open questions, and of `countOpen()`. */
import { describe, expect } from "vitest";
import type { DeliveryWithEnvelopeRow, InboxCursor, ListParked } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { failedWithDelay, RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";
const DEAD = { kind: "failed", becomes: "dead" } as const;
const ASKED = { kind: "asked" } as const;

export function parked(it: SceneTest): void {
  describe("listing parked deliveries", () => {
    it("lists dead letters and open questions separately, with their envelopes [DLV-7]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const dead = await scene.settle(await scene.underWay({ task: "dead" }), DEAD);
      const asked = await scene.settle(await scene.underWay({ task: "asked" }), ASKED);
      const stopped = await scene.send({ task: "stopped", state: "dead", reason: "{}" });
      await scene.settle(await scene.underWay({ task: "done" }), { kind: "completed" });
      await scene.settle(await scene.underWay({ task: "declined" }), { kind: "declined" });
      await scene.settle(await scene.underWay({ task: "failed" }), failedWithDelay(5));
      await scene.send({ task: "ready" });
      await scene.underWay({ task: "held" });
      await scene.unchanged(async () => {
        const letters = await list(scene);
        expect(letters.map(({ delivery }) => delivery)).toEqual([dead.delivery, stopped.delivery]);
        for (const each of letters) {
          expect(await store.findDelivery(workspace, each.delivery.id)).toEqual(each);
        }
        const questions = await list(scene, { state: "waiting" });
        expect(expectSingle(questions).delivery).toEqual(asked.delivery);
        expect(expectSingle(questions).envelope.id).toBe(asked.delivery.envelope);
      });
    });

    it.for(["dead", "waiting"] as const)(
      "filters %s deliveries by sender, receiver and task, alone and together [DLV-7]",
      async (state, { scene }) => {
        for (const [from, to, task] of [
          ["ada", "ben", "a"],
          ["ada", "cyd", "a"],
          ["ada", "ben", "b"],
          ["cyd", "ben", "c"],
        ] as const) {
          const held = await scene.underWay({ from, to, task });
          await scene.settle(held, state === "dead" ? DEAD : ASKED);
        }
        const seen = async (which: Partial<ListParked>) =>
          (await list(scene, { state, ...which })).map(
            ({ delivery: { sender, receiver, task } }) => `${sender} ${receiver} ${task}`,
          );
        const all = ["ada ben a", "ada cyd a", "ada ben b", "cyd ben c"];
        expect(await seen({})).toEqual(all);
        expect(await seen({ limit: 2 })).toEqual(all.slice(0, 2));
        expect(await seen({ sender: "ada" })).toEqual(all.slice(0, 3));
        expect(await seen({ receiver: "cyd" })).toEqual(["ada cyd a"]);
        expect(await seen({ task: "b" })).toEqual(["ada ben b"]);
        expect(await seen({ sender: "ada", receiver: "ben" })).toEqual(["ada ben a", "ada ben b"]);
        const one = { sender: "ada", receiver: "ben", task: "a" };
        expect(await seen(one)).toEqual(["ada ben a"]);
        expect(await seen({ sender: "ben" })).toEqual([]);
        expect(await seen({ receiver: "nobody" })).toEqual([]);
        expect(await seen({ sender: "cyd", task: "a" })).toEqual([]);
      },
    );

    it("lists deliveries page by page in the order of their places [DLV-7]", async ({ scene }) => {
      const tasks = ["a", "b", "c", "d", "e"];
      for (const task of tasks) await scene.send({ task, attempts: 1 });
      await scene.send({ task: "urgent", ahead: 1_000_000 });
      const { claimed } = await scene.claim("ben", { limit: 9 });
      for (const held of claimed.toReversed()) {
        await scene.settle(held, { kind: "released", becomes: "dead" });
      }
      const pages: string[][] = [];
      let after: InboxCursor | undefined;
      do {
        const page = await list(scene, { limit: 2, ...(after === undefined ? {} : { after }) });
        pages.push(page.map(({ delivery }) => delivery.task));
        after = page.at(-1)?.delivery;
      } while (after !== undefined);
      expect(pages).toEqual([["urgent", "a"], ["b", "c"], ["d", "e"], []]);
    });

    it("lists deliveries of a publication, which share a place, page by page [DLV-3 DLV-7]", async ({
      scene,
    }) => {
      const readers = ["r1", "r2", "r3", "r4", "r5"];
      for (const reader of readers) await scene.register(reader);
      const parked = { state: "dead", reason: "{}" } as const;
      await scene.publish(readers.map((to) => [to, parked] as const));
      const read: string[] = [];
      for (let after: InboxCursor | undefined; ; ) {
        const page = await list(scene, { limit: 2, ...(after === undefined ? {} : { after }) });
        read.push(...page.map(({ delivery }) => delivery.receiver));
        after = page.at(-1)?.delivery;
        if (after === undefined) break;
      }
      expect(read.toSorted()).toEqual(readers);
    });

    it("lists nothing from another workspace [DLV-7]", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      const where = { workspace: ELSEWHERE };
      const there = await scene.send({ where, state: "dead", reason: "{}" });
      expect(await list(scene)).toEqual([]);
      expect(expectSingle(await list(scene, where)).delivery).toEqual(there.delivery);
    });
  });

  describe("counting open deliveries", () => {
    it("counts the open deliveries of one inbox, up to a maximum [DLV-13]", async ({ scene }) => {
      const { store, workspace } = scene;
      const count = (receiver: string, most = 100) => store.countOpen(workspace, receiver, most);
      expect(await count("ben")).toBe(0);
      await scene.register("cyd", { role: "coder" });
      await scene.send({ task: "ready" });
      await scene.send({ from: "cyd", task: "ready" });
      await scene.send({ task: "scheduled", state: "scheduled", delayMs: 5 });
      await scene.send({ task: "dead", state: "dead", reason: "{}" });
      await scene.send({ to: "cyd", task: "another" });
      await scene.send({ to: "role:coder", task: "of a role" });
      await scene.underWay({ task: "accepted" });
      await scene.settle(await scene.underWay({ task: "waiting" }), ASKED);
      await scene.settle(await scene.underWay({ task: "done" }), { kind: "completed" });
      await scene.send({ task: "claimed" });
      await scene.claimOne("ben", { task: "claimed" });
      expect(await count("ben")).toBe(6);
      expect(await count("ben", 6)).toBe(6);
      expect(await count("ben", 5)).toBe(5);
      expect(await count("ben", 1)).toBe(1);
      expect(await count("cyd")).toBe(1);
      expect(await count("role:coder")).toBe(1);
      expect(await store.countOpen(ELSEWHERE, "ben", 9)).toBe(0);
      await scene.settle(await scene.claimOne("ben", { task: "ready" }), RELEASED);
      expect(await count("ben")).toBe(6);
    });
  });
}

function list(
  { store, workspace }: Scene,
  change: Partial<ListParked> = {},
): Promise<readonly DeliveryWithEnvelopeRow[]> {
  return store.listParked({ workspace, state: "dead", limit: 100, ...change });
}
