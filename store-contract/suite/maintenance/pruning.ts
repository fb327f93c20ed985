/**
 * Tests of pruning: deletes the beginnings of traces and the oldest events; chains, cursors and
 * references stay valid.
 */
import { describe, expect } from "vitest";
import { PRUNING_BRANCH, type PrunePoint } from "../../../src/store/pruning.ts";
import type { ChainPosition, PruneTrace, SurveyEvents } from "../../../src/store/store.ts";
import { traceBranch } from "../../../src/store/visibility.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";
const BRANCH = traceBranch("s1");

/**
 * Stores a trace with this many steps, and a memory after it: the newest record of a store is kept.
 */
async function createTrace(scene: Scene, steps: number, branch = BRANCH): Promise<ChainPosition[]> {
  const records = Array.from({ length: steps }, (_, i) => scene.record("ada", `step ${i + 1}`));
  const places = await scene.remember(records, { branch });
  await scene.remember([scene.record("ada", "after")]);
  return places;
}

/** Stores the record that permits pruning a trace up to a step. */
async function recordPruning(
  scene: Scene,
  { seq, storedAt, link }: ChainPosition,
  branch = BRANCH,
): Promise<void> {
  const traces: PrunePoint[] = [{ branch, seq, storedAt, link }];
  const record = scene.record("ada", { type: "pruning", content: "pruned", data: { traces } });
  await scene.remember([record], { branch: PRUNING_BRANCH });
}

function prune({ store, workspace }: Scene, change: Partial<PruneTrace> = {}) {
  return store.pruneTrace({ workspace, branch: BRANCH, upTo: 1_000, limit: 1_000, ...change });
}

const remainingSteps = async (scene: Scene, branch = BRANCH): Promise<number[]> =>
  (await scene.everything({ branch })).map(({ seq }) => seq).reverse();

export function pruning(it: SceneTest): void {
  describe("pruning traces", () => {
    it("deletes the oldest steps up to the limit, and continues the chain from the others [MEM-18]", async ({
      scene,
    }) => {
      const places = await createTrace(scene, 5);
      const rows = await scene.everything({ branch: BRANCH });
      await recordPruning(scene, places[3] as ChainPosition);
      const bytes = (from: number, to: number) =>
        rows
          .filter(({ seq }) => seq >= from && seq <= to)
          .reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      expect(await prune(scene, { upTo: 4, limit: 3 })).toEqual({
        records: 3,
        bytes: bytes(1, 3),
        heldBy: 0,
      });
      expect(await remainingSteps(scene)).toEqual([4, 5]);
      expect(await prune(scene, { upTo: 4 })).toEqual({
        records: 1,
        bytes: bytes(4, 4),
        heldBy: 0,
      });
      expect(await prune(scene, { upTo: 4 })).toEqual({ records: 0, bytes: 0, heldBy: 0 });
      expect(await remainingSteps(scene)).toEqual([5]);
      await scene.reopen();
      const { store, workspace } = scene;
      const ids = places.map(({ id }) => id);
      expect((await store.readMemories(workspace, ids)).map(({ seq }) => seq)).toEqual([5]);
      const [next] = await scene.remember([scene.record("ada", "step 6")], { branch: BRANCH });
      expect(next?.seq).toBe(6);
      expect((await store.verify(workspace)).problems).toEqual([]);
    });

    it("keeps the end of a fully pruned trace, so that steps can be added [MEM-18]", async ({
      scene,
    }) => {
      const places = await createTrace(scene, 3);
      await recordPruning(scene, places[2] as ChainPosition);
      expect(await prune(scene)).toMatchObject({ records: 3 });
      const { store, workspace } = scene;
      const last = places[2] as ChainPosition;
      const gone = { branch: BRANCH, first: 4, last: 3, firstAt: 0 };
      const [listed] = await store.listTraces({ workspace, limit: 10 });
      expect(listed).toEqual({ ...gone, lastAt: last.storedAt, link: last.link });
      expect((await store.verify(workspace)).problems).toEqual([]);
      const [next] = await scene.remember([scene.record("ada", "step 4")], { branch: BRANCH });
      expect(next?.seq).toBe(4);
      expect(await remainingSteps(scene)).toEqual([4]);
      expect((await store.verify(workspace)).problems).toEqual([]);
    });

    it("reports pruned steps that no record permits [MEM-18]", async ({ scene }) => {
      const places = await createTrace(scene, 4);
      await prune(scene, { upTo: 2 });
      const { store, workspace } = scene;
      const { problems } = await store.verify(workspace);
      const third = places[2]?.id;
      expect(problems).toContainEqual(expect.objectContaining({ record: third, field: "seq" }));
      await recordPruning(scene, places[1] as ChainPosition);
      expect((await store.verify(workspace)).problems).toEqual([]);
      await prune(scene, { upTo: 3 });
      expect((await store.verify(workspace)).problems).not.toEqual([]);
      await recordPruning(scene, places[2] as ChainPosition);
    });

    it("detects a wrong link in the pruning record, before and after pruning [MEM-18]", async ({
      scene,
    }) => {
      const places = await createTrace(scene, 4);
      const { store, workspace } = scene;
      const forged = { ...(places[1] as ChainPosition), link: "0".repeat(64) };
      await recordPruning(scene, forged);
      const second = { record: places[1]?.id, field: "link" };
      expect((await store.verify(workspace)).problems).toMatchObject([second]);
      await prune(scene, { upTo: 2 });
      const third = { record: places[2]?.id, field: "link" };
      expect((await store.verify(workspace)).problems).toMatchObject([third]);
      await recordPruning(scene, places[1] as ChainPosition);
    });

    it.for(["relations", "refs"] as const)(
      "keeps a step that another memory names in its %s, and all steps after it [MEM-18]",
      async (field, { scene }) => {
        const places = await createTrace(scene, 5);
        const id = places[2]?.id as string;
        const names =
          field === "refs"
            ? { refs: [id] }
            : { relations: [{ kind: "references" as const, to: id }] };
        await scene.remember([scene.record("ben", { content: "see", ...names })]);
        const { store, workspace } = scene;
        const survey = { workspace, branch: BRANCH, upTo: 5 };
        expect(await store.surveyTrace(survey)).toMatchObject({ records: 2, heldBy: 3 });
        await recordPruning(scene, places[1] as ChainPosition);
        expect(await prune(scene, { upTo: 5 })).toMatchObject({ records: 2, heldBy: 3 });
        expect(await prune(scene, { upTo: 5 })).toMatchObject({ records: 0, heldBy: 3 });
        expect(await remainingSteps(scene)).toEqual([3, 4, 5]);
        expect((await store.verify(workspace)).problems).toEqual([]);
      },
    );

    it("prunes steps that refer only to each other, and keeps what a remaining step refers to [MEM-18]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const [first, second] = await createTrace(scene, 2);
      const naming = (to: ChainPosition | undefined) =>
        scene.record("ada", { content: "see", refs: [to?.id as string] });
      await scene.remember([naming(first)], { branch: BRANCH });
      await scene.remember([naming(second)], { branch: BRANCH });
      await scene.remember([scene.record("ada", "after")]);
      const survey = (upTo: number) => store.surveyTrace({ workspace, branch: BRANCH, upTo });
      expect(await survey(4)).toMatchObject({ records: 4, heldBy: 0 });
      expect(await survey(3)).toMatchObject({ records: 0, heldBy: 1 });
      const last = (await scene.everything({ branch: BRANCH }))[0] as unknown as ChainPosition;
      await recordPruning(scene, last);
      // Between the two calls, only steps that are pruned next have lost a reference.
      expect(await prune(scene, { upTo: 4, limit: 1 })).toMatchObject({ records: 1, heldBy: 0 });
      expect((await store.verify(workspace)).problems).toEqual([]);
      expect(await prune(scene, { upTo: 4 })).toMatchObject({ records: 3 });
      expect((await store.verify(workspace)).problems).toEqual([]);
    });

    it("allows pruning a step once the step that refers to it is pruned [MEM-18]", async ({
      scene,
    }) => {
      const other = traceBranch("s2");
      const [named] = await createTrace(scene, 1, other);
      await scene.remember([scene.record("ada", { content: "see", refs: [named?.id as string] })], {
        branch: BRANCH,
      });
      await scene.remember([scene.record("ada", "after")]);
      const { store, workspace } = scene;
      const survey = { workspace, branch: other, upTo: 1 };
      expect(await store.surveyTrace(survey)).toMatchObject({ records: 0, heldBy: 1 });
      const [row] = await scene.everything({ branch: BRANCH });
      await recordPruning(scene, row as unknown as ChainPosition);
      await prune(scene);
      expect(await store.surveyTrace(survey)).toMatchObject({ records: 1, heldBy: 0 });
      await recordPruning(scene, named as ChainPosition, other);
      await prune(scene, { branch: other });
    });

    it("does not affect concurrent writes [MEM-18]", async ({ scene }) => {
      const places = await createTrace(scene, 4);
      await recordPruning(scene, places[1] as ChainPosition);
      await prune(scene, { upTo: 0 }); // Does one-time preparation, so that the next call is fast.
      const write = (branch = scene.branch) => scene.append(scene.record("ada"), { branch });
      const first = places[0]?.id as string;
      const naming = scene.record("ben", { content: "see", refs: [first] });
      const wrong = scene.record("ben", {
        content: "see",
        refs: [first, scene.ids.mint("memory")],
      });
      const [refused, , , gone, late] = await Promise.all([
        scene.append(wrong),
        write(),
        write(BRANCH),
        prune(scene, { upTo: 2 }),
        scene.append(naming),
      ]);
      expect(refused.kind).toBe("missing_reference");
      // Depending on the order, the step is pruned or referred to; never both.
      const held = late.kind === "appended";
      expect(gone).toMatchObject(held ? { records: 0, heldBy: 1 } : { records: 2, heldBy: 0 });
      expect(await remainingSteps(scene)).toEqual(held ? [1, 2, 3, 4, 5] : [3, 4, 5]);
      expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
    });

    it("prunes only traces, and nothing in another workspace [MEM-18]", async ({ scene }) => {
      const { store, workspace, branch: trunk } = scene;
      await scene.register("ada", {}, ELSEWHERE);
      await createTrace(scene, 2);
      for (const branch of [trunk, PRUNING_BRANCH, "trace", "Trace/s1", "trace/none", "side"]) {
        const nothing = { records: 0, bytes: 0, heldBy: 0 };
        expect(await scene.unchanged(() => prune(scene, { branch }))).toEqual(nothing);
        expect(await store.surveyTrace({ workspace, branch, upTo: 9 })).toEqual(nothing);
      }
      await prune(scene, { workspace: ELSEWHERE });
      expect(await remainingSteps(scene)).toEqual([1, 2]);
    });

    it("keeps the newest record of the store, so that places only grow [MEM-18]", async ({
      scene,
    }) => {
      const records = [1, 2, 3].map((i) => scene.record("ada", `step ${i}`));
      const places = await scene.remember(records, { branch: BRANCH });
      const { store, workspace } = scene;
      await store.pruneTrace({ workspace, branch: BRANCH, upTo: 3, limit: 10 });
      expect(await remainingSteps(scene)).toEqual([3]);
      await recordPruning(scene, places[1] as ChainPosition);
      const { delivery: first } = await scene.send({ task: "one" });
      await recordPruning(scene, places[2] as ChainPosition);
      await prune(scene);
      const { delivery: second } = await scene.send({ task: "two" });
      expect(second.place).toBeGreaterThan(first.place);
      expect((await store.verify(workspace)).problems).toEqual([]);
    });

    it("lists traces by name, page by page, with their first and last step [MEM-12]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await scene.remember([scene.record("ada")]);
      for (const name of ["b", "a", "é", "a/1", "Z"]) {
        scene.clock.advance(5);
        await createTrace(scene, 2, traceBranch(name));
        scene.clock.advance(5);
        await createTrace(scene, 1, traceBranch(name));
      }
      await scene.remember([scene.record("ada")], { branch: "trace" });
      await scene.remember([scene.record("ada")], { branch: "trace0" });
      const listed = await store.listTraces({ workspace, limit: 10 });
      const names = ["Z", "a", "a/1", "b", "é"].map(traceBranch);
      expect(listed.map(({ branch }) => branch)).toEqual(names);
      for (const each of listed) {
        const rows = (await scene.everything({ branch: each.branch })).toReversed();
        expect(each).toEqual({
          branch: each.branch,
          first: 1,
          last: 3,
          firstAt: rows[0]?.storedAt,
          lastAt: rows[2]?.storedAt,
          link: rows[2]?.link,
        });
      }
      const page = await store.listTraces({ workspace, limit: 2, after: names[1] as string });
      expect(page.map(({ branch }) => branch)).toEqual(names.slice(2, 4));
      expect(await store.listTraces({ workspace: ELSEWHERE, limit: 2 })).toEqual([]);
    });
  });

  describe("pruning events", () => {
    /** Writes one event per second. */
    async function writeEvents(scene: Scene, events: number, workspace = scene.workspace) {
      for (let i = 0; i < events; i++) {
        scene.clock.advance(1_000);
        const name = `${workspace} ${scene.now}`;
        const entry = { kind: "key", name, value: "1", basedOn: 0 };
        await scene.store.putEntry(workspace, entry, { kind: "breaker_reset", agent: "ada" });
      }
    }

    const numbers = async ({ store, workspace }: Scene, after = 0): Promise<number[]> =>
      (await store.readEvents(workspace, after, 1_000)).map(({ number }) => number);

    it("surveys events older than a time or beyond a number, but never the newest [MEM-18]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await writeEvents(scene, 3);
      await writeEvents(scene, 2, ELSEWHERE);
      await writeEvents(scene, 4);
      const all = await store.readEvents(workspace, 0, 1_000);
      const survey = async (rule: Omit<SurveyEvents, "workspace">) => {
        const { upTo, events } = await store.surveyEvents({ workspace, ...rule });
        const going = all.filter(({ number }) => number <= upTo);
        expect(events).toBe(going.length);
        return going.length;
      };
      const at = (i: number) => all[i]?.at as number;
      expect(await survey({ before: 0 })).toBe(0);
      expect(await survey({ before: at(0) })).toBe(0);
      expect(await survey({ before: at(0) + 1 })).toBe(1);
      expect(await survey({ before: at(5) })).toBe(5);
      expect(await survey({ before: scene.now + 1 })).toBe(6);
      expect(await survey({ keep: 9 })).toBe(0);
      expect(await survey({ keep: 3 })).toBe(4);
      expect(await survey({ keep: 0 })).toBe(6);
      expect(await survey({ keep: 3, before: at(1) })).toBe(4);
      expect(await survey({ keep: 6, before: at(3) })).toBe(3);
      expect(await survey({})).toBe(0);
      const none = { upTo: 0, events: 0 };
      expect(await store.surveyEvents({ workspace: "nobody", before: scene.now })).toEqual(none);
    });

    it("counts, reads and deletes exactly within events that were written together [MEM-18]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await writeEvents(scene, 1);
      scene.clock.advance(1_000);
      const event = { kind: "breaker_reset", agent: "ada" } as const;
      const entries = ["a", "b", "c", "d", "e"].map((name) => ({ kind: "key", name, value: "1" }));
      await Promise.all(
        entries.map((entry) => store.putEntry(workspace, { ...entry, basedOn: 0 }, event)),
      );
      await writeEvents(scene, 2);
      const all = await store.readEvents(workspace, 0, 1_000);
      expect(all).toHaveLength(8);
      for (const [i, { number, at }] of all.entries()) {
        expect(await store.readEvents(workspace, number, 2)).toEqual(all.slice(i + 1, i + 3));
        const kept = await store.surveyEvents({ workspace, keep: i });
        expect(kept.events).toBe(8 - Math.max(i, 1));
        expect(kept.upTo).toBe(all[7 - Math.max(i, 1)]?.number);
        const older = await store.surveyEvents({ workspace, before: at });
        expect(older.events).toBe(all.filter((event) => event.at < at).length);
      }
      expect(await store.pruneEvents(workspace, all[4]?.number ?? 0, 3)).toBe(3);
      expect(await store.readEvents(workspace, 0, 1_000)).toEqual(all.slice(3));
      expect(await store.pruneEvents(workspace, all[4]?.number ?? 0, 10)).toBe(2);
      expect(await store.readEvents(workspace, 0, 1_000)).toEqual(all.slice(5));
      expect(await store.pruneEvents(workspace, all[4]?.number ?? 0, 10)).toBe(0);
      await scene.reopen();
      expect(await scene.store.readEvents(workspace, 0, 1_000)).toEqual(all.slice(5));
      expect((await scene.store.verify(workspace)).problems).toEqual([]);
    });

    it("deletes the oldest first, and a cursor reads every remaining event [MEM-18]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await writeEvents(scene, 2);
      await writeEvents(scene, 3, ELSEWHERE);
      await writeEvents(scene, 4);
      const before = await numbers(scene);
      const cursor = before[1] as number;
      expect(await store.pruneEvents(workspace, before[3] as number, 3)).toBe(3);
      expect(await numbers(scene)).toEqual(before.slice(3));
      expect(await store.pruneEvents(workspace, before[3] as number, 3)).toBe(1);
      expect(await store.pruneEvents(workspace, before[3] as number, 3)).toBe(0);
      expect(await numbers(scene, cursor)).toEqual(before.slice(4));
      expect(await store.readEvents(ELSEWHERE, 0, 10)).toHaveLength(3);
    });

    it("keeps the newest, so that no number is assigned twice [MEM-18]", async ({ scene }) => {
      const { store, workspace } = scene;
      await writeEvents(scene, 3);
      const last = (await numbers(scene)).at(-1) as number;
      expect(await store.pruneEvents(workspace, last + 100, 1_000)).toBe(2);
      expect(await numbers(scene)).toEqual([last]);
      await scene.reopen();
      await writeEvents(scene, 2);
      const after = await numbers(scene, last);
      expect(after).toHaveLength(2);
      expect(Math.min(...after)).toBeGreaterThan(last);
    });
  });
}
