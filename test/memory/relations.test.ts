/** Tests relations: typed, optionally time-limited edges between memories, read from both ends. */

import { describe, expect, it } from "vitest";
import { RELATION_KINDS } from "../../src/index.ts";
import type { Relation } from "../../src/memory/read.ts";
import { openFresh, refusal, STORES } from "../support/hub/support.ts";

describe.each(STORES)("relations on %s", (store) => {
  async function written() {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    const target = await scout.remember({ content: "What the others are about." });
    return { hub, scout, target: target.id };
  }

  const sources = (edges: readonly Relation[]) => edges.map(({ source }) => source);

  it("can be of every kind, and are found from both ends [MEM-3]", async () => {
    const { scout, target } = await written();
    expect([...RELATION_KINDS].sort()).toEqual(
      "branches-from caused-by continues-from contradicts corrects derived-from references summarizes supersedes supports".split(
        " ",
      ),
    );
    for (const kind of RELATION_KINDS) {
      const relations = [{ kind, to: target }];
      const { id } = await scout.remember({ content: kind, relations });
      const edge = { kind, source: id, target };
      expect((await scout.memories.relations(id)).items).toEqual([edge]);
      expect(
        (await scout.memories.relations(target, { direction: "in", kinds: [kind] })).items,
      ).toEqual([edge]);
      expect((await scout.memories.relations(id, { direction: "in" })).items).toEqual([]);
    }
    const inbound = (await scout.memories.relations(target, { direction: "in" })).items;
    expect(inbound.map(({ kind }) => kind)).toEqual([...RELATION_KINDS]);
    expect((await scout.memories.relations(target)).items).toEqual([]);
  });

  it("are filtered by kind and limited, oldest first [MEM-3]", async () => {
    const { scout, target } = await written();
    const ids: string[] = [];
    for (const kind of ["supports", "corrects", "supports"] as const) {
      ids.push((await scout.remember({ content: kind, relations: [{ kind, to: target }] })).id);
    }
    const from = async (query: object) =>
      (await scout.memories.relations(target, { direction: "in", ...query })).items;
    expect(sources(await from({ kinds: ["supports"] }))).toEqual([ids[0], ids[2]]);
    expect(sources(await from({ kinds: ["supports", "corrects"] }))).toEqual(ids);
    expect(sources(await from({ kinds: ["summarizes"] }))).toEqual([]);
    expect(sources(await from({ limit: 2 }))).toEqual(ids.slice(0, 2));
  });

  it("apply from their start time until before their end time [MEM-3]", async () => {
    const { scout, target } = await written();
    const write = async (bounds: { from?: number; until?: number }) =>
      (
        await scout.remember({
          content: JSON.stringify(bounds),
          relations: [{ kind: "supports", to: target, ...bounds }],
        })
      ).id;
    const always = await write({});
    const later = await write({ from: 100 });
    const before = await write({ until: 200 });
    const between = await write({ from: 100, until: 200 });
    const at = async (time: number) =>
      sources((await scout.memories.relations(target, { direction: "in", at: time })).items);
    expect(await at(99)).toEqual([always, before]);
    expect(await at(100)).toEqual([always, later, before, between]);
    expect(await at(199)).toEqual([always, later, before, between]);
    expect(await at(200)).toEqual([always, later]);
  });

  it("are refused with an invalid interval, an unknown target or kind [MEM-3]", async () => {
    const { scout, target } = await written();
    const relate = (relation: object) =>
      refusal(scout.remember({ content: "x", relations: [relation as never] }));
    expect(await relate({ kind: "supports", to: target, from: 2, until: 1 })).toMatchObject({
      code: "invalid_memory",
      path: "relations[0].until",
    });
    expect(await relate({ kind: "likes", to: target })).toMatchObject({
      code: "invalid_memory",
      path: "relations[0].kind",
    });
    const nowhere = "mem_01900000-0000-7000-8000-000000000000";
    expect(await relate({ kind: "supports", to: nowhere })).toMatchObject({
      code: "dangling_reference",
    });
    expect((await scout.memories.recent()).items).toHaveLength(1);
  });

  it("can point to earlier records of the same call, not to later ones [MEM-3]", async () => {
    const { scout } = await written();
    const [a, b] = [1, 2].map((n) => `mem_01900000-0000-7000-8000-00000000000${n}`) as [
      string,
      string,
    ];
    const back = { id: b, content: "b", relations: [{ kind: "corrects" as const, to: a }] };
    expect(await refusal(scout.remember([back, { id: a, content: "a" }]))).toMatchObject({
      code: "dangling_reference",
    });
    await scout.remember([{ id: a, content: "a" }, back]);
    expect(sources((await scout.memories.relations(a, { direction: "in" })).items)).toEqual([b]);
  });
});
