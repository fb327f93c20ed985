/**
 * Tests of ranked search: everything that the reader may see is found, whatever the state of the
 * index, best hits first. These tests check that a store passes all its data to the ranking;
 * search/rank.ts defines the scores.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { MemoryInput } from "../../../src/memory/record.ts";
import { queryOf } from "../../../src/search/query.ts";
import { EFFORT } from "../../../src/search/rank.ts";
import { WEIGHTS } from "../../../src/search/weights.ts";
import type { SearchFilter, SearchHit, SearchMemories } from "../../../src/store/search.ts";
import {
  ANONYMOUS_READER,
  END_OF_BRANCH,
  publicVisibility,
  type Visibility,
} from "../../../src/store/visibility.ts";
import type { Scene, SceneTest } from "../scene.ts";

const INDEX_WAIT_MS = 20_000;

/** Returns a search as the hub would run it. */
export function searchOf(
  { workspace, branch, now }: Scene,
  text: string,
  change: Partial<SearchMemories> = {},
): SearchMemories {
  return {
    workspace,
    sight: publicVisibility(branch),
    filter: {},
    ranking: {
      query: queryOf(text),
      weights: WEIGHTS,
      effort: EFFORT,
      now,
      graph: { depth: 1, visits: 100 },
      superseded: "left-out",
    },
    limit: 10,
    ...change,
  };
}

/** Returns the hits, best first: memories that match themselves or through their neighbours. */
export async function findHits(
  scene: Scene,
  text: string,
  change: Partial<SearchMemories> = {},
): Promise<readonly SearchHit[]> {
  return (await scene.store.search(searchOf(scene, text, change))).hits;
}

/** Returns the ids of the memories that match themselves. */
export async function findMatchingIds(
  scene: Scene,
  text: string,
  change: Partial<SearchMemories> = {},
): Promise<string[]> {
  const found = await findHits(scene, text, { limit: 100_000, ...change });
  return found.filter(({ matchedTerms: said }) => said.length > 0).map(({ row }) => row.id);
}

const contentOf = ({ row }: SearchHit): string =>
  (JSON.parse(row.text) as { content: string }).content;

export function searching(it: SceneTest): void {
  describe("ranked search", () => {
    it.for<[string, string, string[]]>([
      ["any of the words", "banana cherry", ["banana split", "fruit salad"]],
      ["whole words only", "ban", []],
      ["another form of a word", "bananas", ["banana split"]],
      ["words regardless of case and accents", "CREME brulee", ["Crème brûlée"]],
      ["words in other scripts", "日本", ["日本 4711"]],
      ["numbers", "4711", ["日本 4711"]],
      ["part of a compound name", "token", ["call validateToken"]],
      ["tags", "sour", ["lemon"]],
      ["concepts", "dessert", ["Crème brûlée"]],
      ["nothing without a word", "", []],
    ])("matches %s [MEM-8]", async ([_case, words, contents], { scene }) => {
      const inputs: MemoryInput[] = [
        { content: "banana split" },
        { content: "lemon", tags: ["sour"] },
        { content: "Crème brûlée", concepts: ["dessert"] },
        { content: "日本 4711" },
        { content: "call validateToken" },
        { content: "fruit salad", tags: ["cherry", "apple"] },
      ];
      // Each in its own session, so that none is a neighbour of another.
      await scene.remember(
        inputs.map((input, n) => scene.record("ada", { ...input, session: `s${n}` })),
      );
      expect((await findHits(scene, words)).map(contentOf).sort()).toEqual(contents.toSorted());
    });

    it("ranks memories that match more words first, and returns whole rows [MEM-8]", async ({
      scene,
    }) => {
      await remember(scene, [
        "the red house",
        "a house",
        "the garden",
        "the red house on the hill",
      ]);
      const found = await findHits(scene, "red house hill");
      expect(found.map(contentOf)).toEqual([
        "the red house on the hill",
        "the red house",
        "a house",
      ]);
      const ids = found.map(({ row }) => row.id);
      expect(found.map(({ row }) => row)).toEqual(
        await scene.store.readMemories(scene.workspace, ids),
      );
      expect(found.map(({ score }) => score)).toEqual(
        found.map(({ score }) => score).toSorted((a, b) => b - a),
      );
      expect(found[0]?.matchedTerms).toEqual([0, 1, 2]);
    });

    it("finds a memory through its neighbour in the session [MEM-8]", async ({ scene }) => {
      const session = "talk";
      const [question, answer] = await scene.remember([
        scene.record("ada", { content: "where is the anchor kept?", session }),
        scene.record("ben", { content: "in the shed", session }),
        scene.record("ben", { content: "in the shed", session: "another" }),
      ]);
      const found = await findHits(scene, "anchor");
      expect(found.map(({ row }) => row.id)).toEqual([question?.id, answer?.id]);
      expect(found[1]).toMatchObject({
        matchedTerms: [],
        neighbourTerms: [0],
        nearest: question?.id,
      });
    });

    it("finds a related memory while the relation is valid [MEM-8]", async ({ scene }) => {
      const now = scene.now;
      const cause = scene.record("ada", { content: "the anchor broke", session: "a" });
      const until = now + 1_000;
      const effect = scene.record("ada", {
        content: "we drifted",
        session: "b",
        relations: [{ kind: "caused-by", to: cause.id, until }],
      });
      await scene.remember([cause, effect]);
      const at = async (time: number) => {
        const { ranking } = searchOf(scene, "anchor");
        const found = await findHits(scene, "anchor", { ranking: { ...ranking, now: time } });
        return found.map(({ row, connected }) => [row.id, connected]);
      };
      expect(await at(now)).toEqual([
        [cause.id, undefined],
        [effect.id, { id: cause.id, kind: "caused-by" }],
      ]);
      expect(await at(until)).toEqual([[cause.id, undefined]]);
    });

    it("leaves out superseded memories or marks them last, and finds what supersedes them", async ({
      scene,
    }) => {
      const old = scene.record("ada", { content: "the anchor is red", session: "a" });
      const now = scene.record("ada", {
        content: "it is blue",
        session: "b",
        relations: [{ kind: "supersedes", to: old.id }],
      });
      await scene.remember([old, now]);
      expect((await findHits(scene, "anchor")).map(({ row }) => row.id)).toEqual([now.id]);
      const { ranking } = searchOf(scene, "anchor");
      const marked = await findHits(scene, "anchor", {
        ranking: { ...ranking, superseded: "marked" },
      });
      expect(marked.map(({ row, supersededBy }) => [row.id, supersededBy])).toEqual([
        [now.id, []],
        [old.id, [now.id]],
      ]);
    });

    it.for<[string, SearchFilter, number[]]>([
      ["type", { types: ["plan"] }, [1, 5]],
      ["two types", { types: ["plan", "risk"] }, [1, 2, 5]],
      ["agent", { agents: ["ben"] }, [2]],
      ["session", { sessions: ["s3"] }, [3]],
      ["task", { tasks: ["t1"] }, [1, 3]],
      ["run", { runs: ["r1"] }, [4]],
      ["tag", { tags: ["red"] }, [1, 4]],
      ["two tags, both required", { tags: ["red", "blue"] }, [4]],
      ["concept", { concepts: ["boats"] }, [5]],
      ["scope", { scopes: ["team"] }, [0, 1, 2, 3, 4, 5]],
      ["branch", { branches: ["side"] }, []],
      ["importance", { minImportance: 0.6 }, [3]],
      ["confidence", { minConfidence: 0.9 }, [0, 1, 2, 3, 5]],
      ["validity at a time", { validAt: 50 }, [5]],
      ["several fields", { types: ["plan"], tasks: ["t1"], tags: ["red"] }, [1]],
      ["part of a tag", { tags: ["re"] }, []],
    ])("filters by %s [MEM-8]", async ([_case, filter, places], { scene }) => {
      const from = scene.now;
      const inputs: [string, MemoryInput][] = [
        ["ada", { content: "anchor", validFrom: from }],
        ["ada", { content: "anchor", type: "plan", task: "t1", tags: ["red"], validFrom: from }],
        ["ben", { content: "anchor", type: "risk", validFrom: from }],
        ["ada", { content: "anchor", session: "s3", task: "t1", importance: 0.9, validFrom: from }],
        [
          "ada",
          { content: "anchor", run: "r1", tags: ["blue", "red"], confidence: 0.4, validFrom: from },
        ],
        ["ada", { content: "anchor", type: "plan", concepts: ["boats"], validUntil: 100 }],
      ];
      const records = inputs.map(([author, input]) => scene.record(author, input));
      await scene.remember(records);
      const found = await findMatchingIds(scene, "anchor", { filter });
      expect(found.toSorted()).toEqual(places.map((n) => records[n]?.id ?? "").toSorted());
    });

    it("filters by the time of storing [MEM-8]", async ({ scene }) => {
      const [first] = await remember(scene, ["anchor one"]);
      await scene.clock.advance(1_000);
      const since = scene.now;
      const [second] = await remember(scene, ["anchor two"]);
      expect(await findMatchingIds(scene, "anchor", { filter: { since } })).toEqual([second]);
      expect(await findMatchingIds(scene, "anchor", { filter: { until: since } })).toEqual([first]);
    });

    it("searches only the given branches, each up to its position [MEM-10]", async ({ scene }) => {
      const main = await remember(scene, ["anchor 1", "anchor 2", "anchor 3"]);
      const side = await remember(scene, ["anchor 4", "anchor 5"], "side");
      const other = await remember(scene, ["anchor 6"], "other");
      const withLines = (...lines: Visibility["lines"]) => ({
        sight: { ...publicVisibility("main"), lines },
      });
      const tip = (branch: string) => ({ branch, upTo: END_OF_BRANCH });
      expect((await findMatchingIds(scene, "anchor", withLines(tip("main")))).sort()).toEqual(
        main.toSorted(),
      );
      expect((await findMatchingIds(scene, "anchor", withLines(tip("other")))).sort()).toEqual(
        other,
      );
      expect(
        (
          await findMatchingIds(
            scene,
            "anchor",
            withLines(tip("side"), { branch: "main", upTo: 2 }),
          )
        ).sort(),
      ).toEqual([...side, ...main.slice(0, 2)].sort());
    });

    it("finds private memories only for their readers [MEM-11]", async ({ scene }) => {
      const mine = { agent: "ada", session: "s1", user: "" };
      const records = {
        team: scene.record("ada", { content: "anchor", session: "s9" }),
        agent: scene.record("ada", { content: "anchor", scope: "agent", session: "s9" }),
        session: scene.record("ben", { content: "anchor", scope: "session", session: "s1" }),
      };
      await scene.remember(Object.values(records));
      const as = async (reader: Visibility["reader"]) =>
        (
          await findMatchingIds(scene, "anchor", { sight: { ...publicVisibility("main"), reader } })
        ).sort();
      const { team, agent, session } = records;
      expect(await as(ANONYMOUS_READER)).toEqual([team.id]);
      expect(await as(mine)).toEqual([team.id, agent.id, session.id].sort());
      expect(await as({ ...mine, session: "s2" })).toEqual([team.id, agent.id].sort());
      expect(await as({ agent: "ben", session: "s1", user: "" })).toEqual(
        [team.id, session.id].sort(),
      );
    });

    it("does not find quarantined memories [MEM-16]", async ({ scene }) => {
      const [bad = "", good = ""] = await remember(scene, ["the anchor broke", "the anchor holds"]);
      const sight = { ...publicVisibility("main"), quarantined: [bad] };
      expect((await findHits(scene, "anchor", { sight })).map(({ row }) => row.id)).toEqual([good]);
    });

    it("finds traces only on request [MEM-12]", async ({ scene }) => {
      const [known = ""] = await remember(scene, ["the anchor"]);
      const [step = ""] = await remember(scene, ["lifted the anchor"], "trace/s1");
      expect(await findMatchingIds(scene, "anchor")).toEqual([known]);
      const sight = { ...publicVisibility("main"), traces: true };
      expect((await findMatchingIds(scene, "anchor", { sight })).sort()).toEqual(
        [known, step].sort(),
      );
    });

    it("searches no other workspace, and finds nothing in an unknown one", async ({ scene }) => {
      await scene.register("ada", {}, "elsewhere");
      const [here] = await remember(scene, ["anchor"]);
      await scene.remember([scene.record("ada", "anchor")], { workspace: "elsewhere" });
      expect(await findMatchingIds(scene, "anchor")).toEqual([here]);
      expect(await findHits(scene, "anchor", { workspace: "nowhere" })).toEqual([]);
    });

    it("does not find memories of internal types, such as pins", async ({ scene }) => {
      await scene.remember([scene.record("ada", { content: "anchor", type: "pin" })]);
      expect(await findHits(scene, "anchor")).toEqual([]);
    });

    it("pages without gaps or repeats while memories are added", async ({ scene }) => {
      const ids = await remember(
        scene,
        Array.from({ length: 25 }, (_, n) => `anchor ${n}`),
      );
      const found: string[] = [];
      const shown: number[] = [];
      let upTo: number | undefined;
      for (let more = true; more; ) {
        const page = await scene.store.search(
          searchOf(scene, "anchor", {
            limit: 10,
            shown,
            ...(upTo === undefined ? {} : { upTo }),
          }),
        );
        found.push(...page.hits.map(({ row }) => row.id));
        shown.push(...page.hits.map(({ pos }) => pos));
        ({ more, upTo } = page);
        await remember(scene, ["anchor added"]);
      }
      expect(found).toHaveLength(ids.length);
      expect(found.toSorted()).toEqual(ids.toSorted());
    });
  });
}

/** Stores memories, each in its own session. Returns their ids. */
async function remember(
  scene: Scene,
  contents: readonly string[],
  branch = "main",
): Promise<string[]> {
  const places = await scene.remember(
    contents.map((content, n) => scene.record("ada", { content, session: `s${n}` })),
    { branch },
  );
  return places.map((place) => place.id);
}

/** Waits until the index covers at least this many records. */
export async function waitUntilIndexed(scene: Scene, least: number): Promise<void> {
  const giveUpAt = performance.now() + INDEX_WAIT_MS;
  for (;;) {
    const state = await scene.store.indexState();
    expect(state.indexed).toBeLessThanOrEqual(state.records);
    if (state.indexed >= least) return;
    expect(performance.now(), "the index does not catch up").toBeLessThan(giveUpAt);
    await sleep(10);
  }
}
