/**
 * Finding: newest first, by facets and by words, exact from the moment a record was acknowledged,
 * whatever an index has got to by then.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { AuthoredRecord, MemoryInput } from "../../memory/record.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { FindRelations, MemoryFilter } from "../../store/store.ts";
import { wordsOf } from "../../store/words.ts";
import { only, type Scene, type SceneTest } from "./scene.ts";

type Facets = Omit<MemoryFilter, "branch">;

/** More than any store scans instead of asking its index. */
const MANY = 5_200;
const BATCH = 1_000;
/** New Tai Lue, whose vowels became letters only lately: not every engine knows. */
const NEW_LETTER = "ᦀᦰᦀ";
const INDEX_WAIT_MS = 20_000;

export function finding(it: SceneTest): void {
  describe("finding", () => {
    it("the newest come first, as many as asked for [MEM-7]", async ({ scene }) => {
      const places = await scene.remember([1, 2, 3].map((n) => scene.record("ada", `${n}`)));
      const ids = places.map((place) => place.id).reverse();
      expect(await recent(scene, {})).toEqual(ids);
      expect(await recent(scene, {}, { limit: 2 })).toEqual(ids.slice(0, 2));
      expect(await recent(scene, {}, { limit: 2, before: 2 })).toEqual(ids.slice(2));
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
      ["all of them", { task: "t1", agent: "ada", session: "ada-1", tag: "red", type: "fact" }],
      ["a task nobody has", { task: "t9" }],
      ["part of a tag", { tag: "re" }],
    ])("records are found by %s [MEM-7]", async ([_case, facets], { scene }) => {
      const records = assorted(scene, 60);
      await scene.remember(records);
      expect(await recent(scene, facets)).toEqual(expected(records, facets));
    });

    it("pages follow one another without a gap or a repeat [MEM-7]", async ({ scene }) => {
      const records = assorted(scene, 50);
      await scene.remember(records);
      const found: string[] = [];
      for (let before = Number.MAX_SAFE_INTEGER; found.length < records.length; ) {
        const page = await scene.store.recentMemories({
          workspace: scene.workspace,
          filter: { branch: scene.branch, task: "t1" },
          limit: 4,
          before,
        });
        found.push(...page.map((row) => row.id));
        const last = page.at(-1);
        if (last === undefined) break;
        before = last.seq;
      }
      expect(found).toEqual(expected(records, { task: "t1" }));
    });

    it("what is found is what is read", async ({ scene }) => {
      await scene.remember(assorted(scene, 3));
      const found = await scene.everything();
      const ids = found.map((row) => row.id);
      expect(found).toEqual(await scene.store.readMemories(scene.workspace, ids));
    });

    it("neither another branch nor another workspace is searched", async ({ scene }) => {
      await scene.register("ada", {}, "elsewhere");
      const here = only(await scene.remember([scene.record("ada", "apple")]));
      await scene.remember([scene.record("ada", "apple")], { branch: "side" });
      await scene.remember([scene.record("ada", "apple")], { workspace: "elsewhere" });
      expect(await recent(scene, { agent: "ada" })).toEqual([here.id]);
      expect(await search(scene, "apple")).toEqual([here.id]);
      expect(await scene.everything({ branch: "nowhere" })).toEqual([]);
      expect(await scene.everything({ workspace: "nowhere" })).toEqual([]);
    });

    it.for<[string, string, string[]]>([
      ["one of the words", "banana cherry", ["fruit salad", "banana split"]],
      ["whole words only", "ban", []],
      ["capitals and accents aside", "CREME brulee", ["Crème brûlée"]],
      ["other scripts", "日本", ["日本 2026"]],
      ["numbers", "2026", ["日本 2026"]],
      ["tags", "sour", ["lemon"]],
      ["concepts", "dessert", ["Crème brûlée"]],
      ["no word at all", "", []],
    ])("candidates are found by %s, newest first", async ([_case, words, contents], { scene }) => {
      const inputs: MemoryInput[] = [
        { content: "banana split" },
        { content: "lemon", tags: ["sour"] },
        { content: "Crème brûlée", concepts: ["dessert"] },
        { content: "日本 2026" },
        { content: "fruit salad", tags: ["cherry", "apple"] },
      ];
      await scene.remember(inputs.map((input) => scene.record("ada", input)));
      const found = await scene.store.searchCandidates({ ...query(scene, words), limit: 10 });
      const said = found.map((row) => (JSON.parse(row.text) as { content: string }).content);
      expect(said).toEqual(contents);
    });

    it("no more candidates come than asked for, and the newest of them", async ({ scene }) => {
      const places = await scene.remember([1, 2, 3].map(() => scene.record("ada", "apple")));
      const found = await scene.store.searchCandidates({ ...query(scene, "apple"), limit: 2 });
      expect(found.map((row) => row.seq)).toEqual([3, 2]);
      expect(found[0]?.id).toBe(places[2]?.id);
    });

    it("a record can be found the moment it was acknowledged, and after it was indexed [MEM-7]", async ({
      scene,
    }) => {
      const records = assorted(scene, MANY);
      for (let i = 0; i < MANY; i += BATCH) await scene.remember(records.slice(i, i + BATCH));
      await findsAll(scene, records);
      await indexed(scene, MANY - BATCH);
      await findsAll(scene, records);
      const more = [...records, ...assorted(scene, 30)];
      await scene.remember(more.slice(MANY));
      await findsAll(scene, more);
      await scene.reopen();
      await findsAll(scene, more);
    });
  });

  describe("relations", () => {
    it("edges are found from both ends, oldest first [MEM-3]", async ({ scene }) => {
      const [a, b, c, d] = (await related(scene)) as [string, string, string, string];
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

    it("edges are found by kind [MEM-3]", async ({ scene }) => {
      const [a, b, c, d] = (await related(scene)) as [string, string, string, string];
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
    ])("edges are found as they were valid at %i [MEM-3]", async ([at, kinds], { scene }) => {
      const [a] = (await related(scene)) as [string];
      expect((await edges(scene, a, { at })).map((each) => each.kind)).toEqual(kinds);
    });

    it("no more edges come than asked for, counted after filtering [MEM-3]", async ({ scene }) => {
      const [a, b, , d] = (await related(scene)) as [string, string, string, string];
      expect(await edges(scene, a, { kinds: ["supports"], limit: 1 })).toEqual([
        edge("supports", b, a),
      ]);
      expect(await edges(scene, a, { kinds: ["supports"], limit: 2 })).toEqual([
        edge("supports", b, a),
        edge("supports", d, a, [150, 0]),
      ]);
    });

    it("a record without edges, an unknown one and another workspace's have none [MEM-3]", async ({
      scene,
    }) => {
      const [a, , c] = (await related(scene)) as [string, string, string];
      expect(await edges(scene, c, { direction: "in" })).toEqual([]);
      expect(await edges(scene, "mem_unknown", { direction: "in" })).toEqual([]);
      expect(await edges(scene, a, { direction: "in", workspace: "elsewhere" })).toEqual([]);
    });
  });
}

/** Records with every combination of a few tasks, authors, sessions, types, tags and words. */
function assorted(scene: Scene, count: number): NewMemory[] {
  return Array.from({ length: count }, (_, n) =>
    scene.record(n % 3 === 0 ? "ben" : "ada", {
      content: `record ${n} of w${n % 7}${n % 1_000 === 17 ? ` seldom ${NEW_LETTER}` : ""}`,
      type: n % 4 === 0 ? "plan" : "fact",
      ...(n % 5 === 0 ? { session: "s2" } : {}),
      ...(n % 2 === 0 ? {} : { task: "t1" }),
      ...(n % 6 === 0 ? {} : { tags: n % 5 === 0 ? ["red", "blue"] : ["red"] }),
    }),
  );
}

function fits(record: NewMemory, facets: Facets): boolean {
  const { tag, ...fields } = facets;
  const { tags = [], instance, ...authored } = JSON.parse(record.text) as AuthoredRecord;
  if (tag !== undefined && !tags.includes(tag)) return false;
  const said: Partial<Record<keyof Facets, unknown>> = { session: instance, ...authored };
  return Object.entries(fields).every(([name, value]) => said[name as keyof Facets] === value);
}

const expected = (records: readonly NewMemory[], facets: Facets): string[] =>
  records
    .filter((record) => fits(record, facets))
    .map((record) => record.id)
    .reverse();

async function recent(
  scene: Scene,
  facets: Facets,
  page: { limit?: number; before?: number } = {},
): Promise<string[]> {
  const { workspace, branch } = scene;
  const filter = { branch, ...facets };
  const rows = await scene.store.recentMemories({ workspace, filter, limit: 100_000, ...page });
  return rows.map((row) => row.id);
}

const query = ({ workspace, branch }: Scene, words: string) => ({
  workspace,
  branch,
  words: wordsOf(words),
});

async function search(scene: Scene, words: string): Promise<string[]> {
  const rows = await scene.store.searchCandidates({ ...query(scene, words), limit: 100_000 });
  return rows.map((row) => row.id);
}

/** Every way of finding gives exactly what was written. */
async function findsAll(scene: Scene, records: readonly NewMemory[]): Promise<void> {
  const facets: Facets[] = [
    {},
    { task: "t1" },
    { agent: "ben", type: "plan" },
    { session: "s2", tag: "blue" },
    { tag: "none" },
  ];
  for (const each of facets) expect(await recent(scene, each)).toEqual(expected(records, each));
  const middle = records.length >> 1;
  expect(await recent(scene, { task: "t1" }, { before: middle, limit: 5 })).toEqual(
    expected(records.slice(0, middle - 1), { task: "t1" }).slice(0, 5),
  );
  for (const word of ["seldom", "w3", "never", NEW_LETTER]) {
    const said = records.filter((record) => wordsOf(record.text).includes(word));
    expect(await search(scene, word)).toEqual(said.map((record) => record.id).reverse());
  }
}

/** Waits until an index covers at least so many records. */
async function indexed(scene: Scene, least: number): Promise<void> {
  const giveUpAt = performance.now() + INDEX_WAIT_MS;
  for (;;) {
    const state = await scene.store.indexState();
    expect(state.indexed).toBeLessThanOrEqual(state.records);
    if (state.indexed >= least) return;
    expect(performance.now(), "the index does not catch up").toBeLessThan(giveUpAt);
    await sleep(10);
  }
}

/** Four records; the later ones point to the earlier ones. */
async function related(scene: Scene): Promise<string[]> {
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
  const { workspace } = scene;
  return scene.store.findRelations({ workspace, memory, direction: "in", limit: 10, ...change });
}

const edge = (kind: string, source: string, target: string, [validFrom, validUntil] = [0, 0]) => ({
  kind,
  source,
  target,
  validFrom,
  validUntil,
});
