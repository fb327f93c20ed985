/** Tests of `browseDeliveries()`: lists deliveries of every receiver, with filters and pages. */
import { describe, expect } from "vitest";
import type { DeliveryRow } from "../../../src/store/rows.ts";
import type { BrowseDeliveries, DeliveryPage } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { failedWithDelay } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

export function browsing(it: SceneTest): void {
  describe("browsing deliveries", () => {
    it("returns deliveries in every state with their envelopes, the highest id first", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await scene.register("dan", { role: "coder" });
      const sent = [
        await scene.send({ task: "ready" }),
        await scene.send({ task: "scheduled", state: "scheduled", delayMs: 5 }),
        await scene.send({ to: "cyd", task: "dead", state: "dead", reason: "{}" }),
        await scene.send({ to: "role:coder", task: "role" }),
        await scene.settle(await scene.underWay({ task: "completed" }), { kind: "completed" }),
        await scene.settle(await scene.underWay({ task: "declined" }), { kind: "declined" }),
        await scene.settle(await scene.underWay({ task: "asked" }), { kind: "asked" }),
        await scene.settle(await scene.underWay({ task: "failed" }), failedWithDelay(5)),
        await scene.underWay({ task: "accepted" }),
        // An urgent delivery comes first in its inbox, but not here.
        await scene.send({ task: "urgent", ahead: 1_000_000 }),
        await scene.send({ task: "newest" }),
      ];
      await scene.unchanged(async () => {
        const { rows, ...rest } = await browse(scene);
        expect(rest).toEqual({});
        expect(rows.map(({ delivery }) => delivery)).toEqual(
          sent.map(({ delivery }) => delivery).toReversed(),
        );
        for (const row of rows) {
          expect(await store.findDelivery(workspace, row.delivery.id)).toEqual(row);
        }
      });
    });

    it("filters by state, sender, receiver, task and time, and by all of them together", async ({
      scene,
    }) => {
      await scene.register("dan", { role: "coder" });
      const times: number[] = [];
      const sent: DeliveryRow[] = [];
      for (const [from, to, task] of [
        ["ada", "ben", "a"],
        ["ada", "cyd", "a"],
        ["cyd", "ben", "b"],
        ["ada", "role:coder", "b"],
        ["ada", "ben", "c"],
      ] as const) {
        scene.clock.advance(1_000);
        times.push(scene.now);
        sent.push((await scene.send({ from, to, task })).delivery);
      }
      const held = await scene.acceptOne("ben", { task: "a" });
      await scene.settle(held, { kind: "completed" });
      await scene.claimOne("ben", { task: "b" });
      /** Returns the indexes of the matching deliveries in `sent`, newest first. */
      const found = async (filter: Partial<BrowseDeliveries>) =>
        idsOf(await browse(scene, filter)).map((id) => sent.findIndex((row) => row.id === id));
      expect(await found({})).toEqual([4, 3, 2, 1, 0]);
      expect(await found({ states: ["ready"] })).toEqual([4, 3, 1]);
      expect(await found({ states: ["claimed", "completed", "dead"] })).toEqual([2, 0]);
      expect(await found({ states: [] })).toEqual([]);
      expect(await found({ sender: "cyd" })).toEqual([2]);
      expect(await found({ receiver: "ben" })).toEqual([4, 2, 0]);
      expect(await found({ receiver: "role:coder" })).toEqual([3]);
      expect(await found({ task: "b" })).toEqual([3, 2]);
      const [, second = 0, , fourth = 0] = times;
      expect(await found({ sentAfter: second })).toEqual([4, 3, 2, 1]);
      expect(await found({ sentAfter: second + 1 })).toEqual([4, 3, 2]);
      expect(await found({ sentBefore: fourth })).toEqual([2, 1, 0]);
      expect(await found({ sentBefore: fourth + 1 })).toEqual([3, 2, 1, 0]);
      expect(await found({ sentAfter: second, sentBefore: fourth })).toEqual([2, 1]);
      const all = { states: ["claimed"], sender: "cyd", receiver: "ben", task: "b" } as const;
      const between = { sentAfter: second, sentBefore: fourth };
      expect(await found({ ...all, ...between })).toEqual([2]);
      expect(await found({ ...all, ...between, sender: "ada" })).toEqual([]);
      expect(await found({ ...all, ...between, states: ["ready"] })).toEqual([]);
      expect(await found({ ...all, ...between, sentBefore: second })).toEqual([]);
      expect(await found({ receiver: "nobody" })).toEqual([]);
    });

    it("returns each delivery exactly once, page by page, while new ones arrive", async ({
      scene,
    }) => {
      // Ids lower than those of the first pages, as a sender with a slow clock creates them.
      const late = Array.from({ length: 3 }, (_, n) => scene.handoff({ task: `late ${n}` }));
      const before: string[] = [];
      for (let n = 0; n < 7; n++) before.push((await scene.send({ task: `${n}` })).delivery.id);
      const pages: string[][] = [];
      const newer: string[] = [];
      let next: string | undefined;
      do {
        const page = await browse(scene, { limit: 2, ...(next !== undefined && { before: next }) });
        pages.push(idsOf(page));
        next = page.next;
        newer.push((await scene.send({ task: `newer ${newer.length}` })).delivery.id);
        const handoff = late.shift();
        if (handoff !== undefined) await scene.store.sendHandoff(handoff);
      } while (next !== undefined);
      const seen = pages.flat();
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.slice(0, 7)).toEqual(before.toReversed());
      expect(seen).toHaveLength(10);
      expect(seen.filter((id) => newer.includes(id))).toEqual([]);
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 2, 2, 2]);
    });

    it("returns each receiver's delivery of a publication, page by page", async ({ scene }) => {
      const readers = ["r1", "r2", "r3", "r4", "r5"];
      for (const reader of readers) await scene.register(reader);
      await scene.publish(readers);
      const first = await browse(scene, { limit: 3 });
      const second = await browse(scene, { limit: 3, before: first.next ?? "" });
      expect(second).not.toHaveProperty("next");
      const seen = [...first.rows, ...second.rows].map(({ delivery }) => delivery.receiver);
      expect(seen.toSorted()).toEqual(readers);
    });

    it("reads at most `visits` deliveries for a page, and continues from there", async ({
      scene,
    }) => {
      const ids: string[] = [];
      for (const [n, from] of [..."ccaaaaacaa"].entries()) {
        const { delivery } = await scene.send({ from: from === "c" ? "cyd" : "ada", task: `${n}` });
        ids.unshift(delivery.id);
      }
      const [, , third, fourth, , , seventh, , , tenth] = ids;
      const rare = { sender: "cyd", visits: 4 };
      const first = await browse(scene, rare);
      expect([idsOf(first), first.next]).toEqual([[third], fourth]);
      const second = await browse(scene, { ...rare, before: fourth as string, visits: 3 });
      expect(second).toEqual({ rows: [], next: seventh });
      const last = await browse(scene, { ...rare, before: seventh as string });
      expect([idsOf(last), last.next]).toEqual([ids.slice(8), undefined]);
      // A full page ends with its last row, even if `visits` allows more.
      const full = await browse(scene, { sender: "cyd", limit: 1 });
      expect([idsOf(full), full.next]).toEqual([[third], third]);
      const none = await browse(scene, { task: "none", visits: 9 });
      expect(none).toEqual({ rows: [], next: ids[8] });
      expect(await browse(scene, { task: "none", visits: 10 })).toEqual({ rows: [] });
      expect(await browse(scene, { before: tenth as string })).toEqual({ rows: [] });
    });

    it("returns no next page when the last delivery fills a page", async ({ scene }) => {
      const { delivery: older } = await scene.send({ task: "a" });
      const { delivery: newer } = await scene.send({ task: "b" });
      const both = await browse(scene, { limit: 2, visits: 2 });
      expect([idsOf(both), both.next]).toEqual([[newer.id, older.id], undefined]);
      const first = await browse(scene, { limit: 1 });
      expect([idsOf(first), first.next]).toEqual([[newer.id], newer.id]);
      const last = await browse(scene, { limit: 1, before: newer.id });
      expect([idsOf(last), last.next]).toEqual([[older.id], undefined]);
    });

    it("returns nothing from another workspace", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      const where = { workspace: ELSEWHERE };
      const there = await scene.send({ where });
      expect(await browse(scene)).toEqual({ rows: [] });
      expect(expectSingle((await browse(scene, where)).rows).delivery).toEqual(there.delivery);
      const here = await scene.send();
      const page = await browse(scene, { limit: 1 });
      // Older deliveries of another workspace do not cause a next page here.
      expect([idsOf(page), page.next]).toEqual([[here.delivery.id], undefined]);
      expect(await browse(scene, { workspace: "unknown" })).toEqual({ rows: [] });
    });
  });
}

const idsOf = ({ rows }: DeliveryPage): string[] => rows.map(({ delivery }) => delivery.id);

function browse(
  { store, workspace }: Scene,
  change: Partial<BrowseDeliveries> = {},
): Promise<DeliveryPage> {
  return store.browseDeliveries({ workspace, limit: 100, visits: 1_000, ...change });
}
