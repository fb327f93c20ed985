/**
 * Tests of `recentMemories()` and `findRelations()`: results are exact from the moment a memory is
 * acknowledged, by facets and by words, whatever the state of the index.
 */
import { describe, expect } from "vitest";
import type { AuthoredRecord } from "../../../src/memory/record.ts";
import { wordsOf } from "../../../src/search/words.ts";
import type { MemoryFilter } from "../../../src/store/memory-filter.ts";
import type { NewMemory } from "../../../src/store/rows.ts";
import type { FindRelations } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";
import { findMatchingIds, waitUntilIndexed } from "./search.ts";

type Facets = MemoryFilter;

/** More memories than any store scans without using its index. */
const MANY = 5_200;
const BATCH = 1_000;
/** The number of hits on a typical page. */
const FEW = 10;
/**
 * New Tai Lue. Its vowels became letters in a recent Unicode version that not every engine knows.
 */
const NEW_LETTER = "ᦀᦰᦀ";

export function finding(it: SceneTest): void {
  describe("finding memories", () => {
    it("returns the newest first, up to the limit [MEM-7]", async ({ scene }) => {
      const places = await scene.remember([1, 2, 3].map((n) => scene.record("ada", `${n}`)));
      const ids = places.map((place) => place.id).reverse();
      expect(await findRecent(scene, {})).toEqual(ids);
      expect(await findRecent(scene, {}, { limit: 2 })).toEqual(ids.slice(0, 2));
      expect(await findRecent(scene, {}, { limit: 2, before: ids[1] ?? "" })).toEqual(ids.slice(2));
      expect(await findRecent(scene, {}, { before: "mem_unknown" })).toEqual([]);
    });

    it.for<[string, Facets]>([
      ["task", { task: "t1" }],
      ["agent", { agent: "ben" }],
      ["session", { session: "s2" }],
      ["the author's own session", { session: "ben-1" }],
      ["tag", { tag: "red" }],
      ["type", { type: "plan" }],
      ["task and agent", { task: "t1", agent: "ada" }],
      ["tag and type", { tag: "blue", type: "plan" }],
      ["all facets", { task: "t1", agent: "ada", session: "ada-1", tag: "red", type: "fact" }],
      ["an unknown task", { task: "t9" }],
      ["part of a tag", { tag: "re" }],
    ])("filters by %s [MEM-7]", async ([_case, facets], { scene }) => {
      const records = assortedRecords(scene, 60);
      await scene.remember(records);
      expect(await findRecent(scene, facets)).toEqual(expected(records, facets));
    });

    it("pages without gaps or repeats [MEM-7]", async ({ scene }) => {
      const records = assortedRecords(scene, 50);
      await scene.remember(records);
      const found: string[] = [];
      while (found.length < records.length) {
        const before = found.at(-1);
        const page = await findRecent(
          scene,
          { task: "t1" },
          { limit: 4, ...(before && { before }) },
        );
        if (page.length === 0) break;
        found.push(...page);
      }
      expect(found).toEqual(expected(records, { task: "t1" }));
    });

    it("returns the same rows as `readMemories()`", async ({ scene }) => {
      await scene.remember(assortedRecords(scene, 3));
      const found = await scene.everything();
      const ids = found.map((row) => row.id);
      expect(found).toEqual(await scene.store.readMemories(scene.workspace, ids));
    });

    it("searches no other branch or workspace", async ({ scene }) => {
      await scene.register("ada", {}, "elsewhere");
      const here = expectSingle(await scene.remember([scene.record("ada", "apple")]));
      await scene.remember([scene.record("ada", "apple")], { branch: "side" });
      await scene.remember([scene.record("ada", "apple")], { workspace: "elsewhere" });
      expect(await findRecent(scene, { agent: "ada" })).toEqual([here.id]);
      expect(await findMatchingIds(scene, "apple")).toEqual([here.id]);
      expect(await scene.everything({ branch: "nowhere" })).toEqual([]);
      expect(await scene.everything({ workspace: "nowhere" })).toEqual([]);
    });

    it("finds a memory as soon as it is acknowledged, before and after it is indexed [MEM-7]", async ({
      scene,
    }) => {
      const aside = await scene.remember(assortedRecords(scene, 3), { branch: "side" });
      const sight = publicVisibility("side");
      const records = assortedRecords(scene, MANY);
      for (let i = 0; i < MANY; i += BATCH) await scene.remember(records.slice(i, i + BATCH));
      await expectAllFound(scene, records);
      await waitUntilIndexed(scene, MANY - BATCH);
      await expectAllFound(scene, records);
      const more = [...records, ...assortedRecords(scene, 30)];
      await scene.remember(more.slice(MANY));
      await expectAllFound(scene, more);
      await scene.reopen();
      await expectAllFound(scene, more);
      expect((await findMatchingIds(scene, "record", { sight, limit: FEW })).sort()).toEqual(
        aside.map((place) => place.id).sort(),
      );
    });
  });

  describe("relations", () => {
    it("finds edges from both ends, oldest first [MEM-3]", async ({ scene }) => {
      const [a, b, c, d] = (await createRelated(scene)) as [string, string, string, string];
      expect(await edges(scene, a, { direction: "out" })).toEqual([]);
      expect(await edges(scene, a, { direction: "in" })).toEqual([
        edge("supports", b, a),
        edge("corrects", c, a, [100, 200]),
        edge("supports", d, a, [150, 0]),
      ]);
      expect(await edges(scene, d, { direction: "out" })).toEqual([
        edge("supports", d, a, [150, 0]),
        edge("derived-from", d, b, [0, 120]),
      ]);
    });

    it("filters edges by kind [MEM-3]", async ({ scene }) => {
      const [a, b, c, d] = (await createRelated(scene)) as [string, string, string, string];
      const supports = [edge("supports", b, a), edge("supports", d, a, [150, 0])];
      expect(await edges(scene, a, { kinds: ["supports"] })).toEqual(supports);
      expect(await edges(scene, a, { kinds: ["corrects", "caused-by"] })).toEqual([
        edge("corrects", c, a, [100, 200]),
      ]);
      expect(await edges(scene, a, { kinds: [] })).toEqual([]);
    });

    it.for<[number, string[]]>([
      [99, ["supports"]],
      [100, ["supports", "corrects"]],
      [149, ["supports", "corrects"]],
      [150, ["supports", "corrects", "supports"]],
      [199, ["supports", "corrects", "supports"]],
      [200, ["supports", "supports"]],
    ])("finds the edges that are valid at %i [MEM-3]", async ([at, kinds], { scene }) => {
      const [a] = (await createRelated(scene)) as [string];
      expect((await edges(scene, a, { at })).map((each) => each.kind)).toEqual(kinds);
    });

    it("applies the limit after the filters [MEM-3]", async ({ scene }) => {
      const [a, b, , d] = (await createRelated(scene)) as [string, string, string, string];
      expect(await edges(scene, a, { kinds: ["supports"], limit: 1 })).toEqual([
        edge("supports", b, a),
      ]);
      expect(await edges(scene, a, { kinds: ["supports"], limit: 2 })).toEqual([
        edge("supports", b, a),
        edge("supports", d, a, [150, 0]),
      ]);
    });

    it("finds no edges of an unknown memory, another workspace or a memory without any [MEM-3]", async ({
      scene,
    }) => {
      const [a, , c] = (await createRelated(scene)) as [string, string, string];
      expect(await edges(scene, c, { direction: "in" })).toEqual([]);
      expect(await edges(scene, "mem_unknown", { direction: "in" })).toEqual([]);
      expect(await edges(scene, a, { direction: "in", workspace: "elsewhere" })).toEqual([]);
    });
  });
}

/** Returns memories that combine a few tasks, authors, sessions, types, tags and words. */
function assortedRecords(scene: Scene, count: number): NewMemory[] {
  return Array.from({ length: count }, (_, n) =>
    scene.record(n % 3 === 0 ? "ben" : "ada", {
      content: `record ${n} of w${n % 7}${n % 1_000 === 17 ? ` seldom ${NEW_LETTER}` : ""}`,
      type: n % 4 === 0 ? "plan" : "fact",
      ...(n % 5 === 0 ? { session: "s2" } : {}),
      ...(n % 2 === 0 ? {} : { task: "t1" }),
      ...(n % 1_000 === 17 ? { run: "r1" } : {}),
      ...(n % 6 === 0 ? {} : { tags: n % 5 === 0 ? ["red", "blue"] : ["red"] }),
    }),
  );
}

function fits(record: NewMemory, facets: Facets): boolean {
  const { tag, ...fields } = facets;
  const { tags = [], instance, ...authored } = JSON.parse(record.text) as AuthoredRecord;
  if (tag !== undefined && !tags.includes(tag)) return false;
  const values: Partial<Record<keyof Facets, unknown>> = { session: instance, ...authored };
  return Object.entries(fields).every(([name, value]) => values[name as keyof Facets] === value);
}

const expected = (records: readonly NewMemory[], facets: Facets): string[] =>
  records
    .filter((record) => fits(record, facets))
    .map((record) => record.id)
    .reverse();

async function findRecent(
  scene: Scene,
  facets: Facets,
  page: { limit?: number; before?: string } = {},
): Promise<string[]> {
  const { workspace, branch } = scene;
  const query = { workspace, sight: publicVisibility(branch), filter: facets, limit: 100_000 };
  return (await scene.store.recentMemories({ ...query, ...page })).map((row) => row.id);
}

/** Expects that every query returns exactly what was written. */
async function expectAllFound(scene: Scene, records: readonly NewMemory[]): Promise<void> {
  const facets: Facets[] = [
    {},
    { task: "t1" },
    { agent: "ben", type: "plan" },
    { session: "s2", tag: "blue" },
    { tag: "none" },
  ];
  for (const each of facets) expect(await findRecent(scene, each)).toEqual(expected(records, each));
  const middle = records.length >> 1;
  const before = records[middle]?.id ?? "";
  expect(await findRecent(scene, { task: "t1" }, { before, limit: 5 })).toEqual(
    expected(records.slice(0, middle), { task: "t1" }).slice(0, 5),
  );
  for (const word of ["seldom", "w3", "never", NEW_LETTER]) {
    const matching = records.filter((record) => wordsOf(record.text).includes(word));
    expect((await findMatchingIds(scene, word)).sort()).toEqual(
      matching.map((record) => record.id).sort(),
    );
  }
  // A word in every memory, with filters that few, many and no memories pass.
  for (const [name, value] of [
    ["run", "r1"],
    ["type", "plan"],
    ["type", "none"],
  ] as const) {
    const passing = records.filter(({ text }) => text.includes(`"${name}":"${value}"`));
    const ids = passing.map((record) => record.id);
    const filter = { [`${name}s`]: [value] };
    expect((await findMatchingIds(scene, "record", { filter })).sort()).toEqual(ids.toSorted());
    const best = await findMatchingIds(scene, "record", { filter, limit: FEW });
    expect(best).toHaveLength(Math.min(FEW, ids.length));
    expect(ids).toEqual(expect.arrayContaining(best));
  }
}

/** Stores four memories; the later ones point to the earlier ones. */
async function createRelated(scene: Scene): Promise<string[]> {
  const a = scene.record("ada", "a");
  const b = scene.record("ada", { content: "b", relations: [{ kind: "supports", to: a.id }] });
  const c = scene.record("ada", {
    content: "c",
    relations: [{ kind: "corrects", to: a.id, from: 100, until: 200 }],
  });
  const d = scene.record("ada", {
    content: "d",
    relations: [
      { kind: "supports", to: a.id, from: 150 },
      { kind: "derived-from", to: b.id, until: 120 },
    ],
  });
  const places = await scene.remember([a, b, c, d]);
  return places.map((place) => place.id);
}

function edges(scene: Scene, memory: string, change: Partial<FindRelations>) {
  const { workspace, branch } = scene;
  const query = { workspace, memory, sight: publicVisibility(branch), limit: 10 };
  return scene.store.findRelations({ ...query, direction: "in", ...change });
}

const edge = (kind: string, source: string, target: string, [validFrom, validUntil] = [0, 0]) => ({
  kind,
  source,
  target,
  validFrom,
  validUntil,
});
