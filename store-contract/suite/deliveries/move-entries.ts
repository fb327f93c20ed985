/**
 * Tests of `moveDeliveries()` with entries, as quarantine uses it: the memory, the entries and the
 * events of the deliveries are written in one operation, or none of them if an entry has changed.
 */
import { describe, expect } from "vitest";
import { entryDigest } from "../../../src/store/rows.ts";
import type { PutEntry } from "../../../src/store/store.ts";
import { expectOutcome } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

const entry = (name: string, change: Partial<PutEntry> = {}): PutEntry => ({
  kind: "mark",
  name,
  value: `"${name}"`,
  basedOn: 0,
  ...change,
});

export function moveEntries(it: SceneTest): void {
  describe("moving deliveries with entries", () => {
    it("writes the entries, the memory and the event, and leaves the delivery as it is [MEM-16]", async ({
      scene,
    }) => {
      const { workspace } = scene;
      const { delivery } = await scene.underWay();
      scene.clock.advance(7);
      const memory = scene.record("ada", { type: "quarantine", content: "both are wrong" });
      const move = scene.moveOf(delivery, { to: delivery.state, event: "quarantined" });
      const entries = [entry("a"), entry("b")];
      const { deliveries } = await scene.move([move], { memory, entries, agent: "ada" });
      expect(deliveries).toEqual([delivery]);
      await scene.reopen();
      for (const { kind, name, value } of entries) {
        const stored = { kind, name, value: value ?? "", revision: 1 };
        expect(await scene.store.findEntry(workspace, kind, name)).toEqual({
          ...stored,
          at: scene.now,
          digest: entryDigest(stored),
        });
      }
      expect((await scene.everything())[0]?.id).toBe(memory.id);
      expect((await scene.store.readEvents(workspace, 0, 100)).at(-1)).toMatchObject({
        kind: "quarantined",
        agent: "ada",
        delivery: delivery.id,
      });
      expect(await scene.deliveryNow(delivery.id)).toEqual(delivery);
    });

    it("writes and deletes entries without any delivery [MEM-16]", async ({ scene }) => {
      const { workspace } = scene;
      await scene.move([], { memory: scene.record("ada", "why"), entries: [entry("a")] });
      const gone = entry("a", { value: undefined, basedOn: 1 });
      const memory = scene.record("ada", "not so");
      expect(await scene.move([], { memory, entries: [gone, entry("b")] })).toEqual({
        kind: "moved",
        deliveries: [],
      });
      expect(await scene.store.findEntry(workspace, "mark", "a")).toBeUndefined();
      expect(await scene.store.findEntry(workspace, "mark", "b")).toMatchObject({ revision: 1 });
    });

    it("writes no entry when one has changed, and returns the first that has [MEM-16]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      const there = await scene.put("mark", "b", '"there"');
      const move = scene.moveOf(delivery, { to: delivery.state, event: "quarantined" });
      const memory = scene.record("ada", "why");
      const marks = (...entries: PutEntry[]) =>
        scene.unchanged(() =>
          scene.store.moveDeliveries(scene.moving([move], { memory, entries })),
        );
      expect(await marks(entry("a"), entry("b"), entry("c", { basedOn: 3 }))).toEqual({
        kind: "entry_changed",
        entry: there,
      });
      expect(await marks(entry("a"), entry("c", { basedOn: 3 }))).toEqual({
        kind: "entry_changed",
        entry: undefined,
      });
      expectOutcome(
        await scene.store.moveDeliveries(scene.moving([move], { memory, entries: [entry("a")] })),
        "moved",
      );
    });

    it("reports a changed delivery first, then the memory, then a changed entry [MEM-16]", async ({
      scene,
    }) => {
      const { delivery } = await scene.send();
      const entries = [entry("a", { basedOn: 9 })];
      const move = scene.moveOf(delivery, { to: delivery.state, event: "quarantined" });
      const stale = { ...move, seen: { ...move.seen, fence: 9 } };
      const lost = scene.record("ada", { content: "see", refs: [UNKNOWN_MEMORY] });
      const fine = scene.record("ada", "why");
      expect(await outcomeKind(scene, [stale], { memory: lost, entries })).toBe("changed");
      expect(await outcomeKind(scene, [move], { memory: lost, entries })).toBe("missing_reference");
      expect(await outcomeKind(scene, [move], { memory: fine, entries })).toBe("entry_changed");
    });

    it("accepts one of two concurrent moves with the same entry; the other writes nothing [MEM-16]", async ({
      scene,
    }) => {
      const outcomes = await Promise.all(
        ["one", "two"].map((content) =>
          scene.store.moveDeliveries(
            scene.moving([], { memory: scene.record("ada", content), entries: [entry("a")] }),
          ),
        ),
      );
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["entry_changed", "moved"]);
      expect(await scene.everything()).toHaveLength(1);
    });
  });
}

async function outcomeKind(scene: Scene, ...about: Parameters<Scene["moving"]>): Promise<string> {
  return (await scene.unchanged(() => scene.store.moveDeliveries(scene.moving(...about)))).kind;
}
