/**
 * Vectors by model: made for what has none, kept with how far the model has come, found by meaning,
 * and taken away.
 */
import { describe, expect } from "vitest";
import { sha256 } from "../../../src/base/digest.ts";
import { toUnit } from "../../../src/search/embedding/embedder.ts";
import { signatureFunctionFor } from "../../../src/search/embedding/vector-signature.ts";
import type { PutVectors, QueryVector } from "../../../src/store/search.ts";
import type { Scene, SceneTest } from "../scene.ts";
import { findHits, findMatchingIds, searchOf } from "./search.ts";

const DIMENSIONS = 8;
const MODEL = "test-model";
const sign = signatureFunctionFor({ dimensions: DIMENSIONS, balanced: false });

/** A direction between two axes: the further from 0, the less like the first. */
export function direction(degrees: number, dimensions: number = DIMENSIONS): Float32Array {
  const vector = new Float32Array(dimensions);
  vector[0] = Math.cos((degrees * Math.PI) / 180);
  vector[1] = Math.sin((degrees * Math.PI) / 180);
  return toUnit(vector);
}

const vectorQuery = (degrees: number, model = MODEL): QueryVector => ({
  model,
  vector: direction(degrees),
  signature: sign(direction(degrees)),
});

export function vectors(it: SceneTest): void {
  describe("vectors", () => {
    it("what a model was not asked for yet comes oldest first, in slices [MEM-8]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await remember(scene, ["one", "two", "three"]);
      const first = await store.findUnembedded({ workspace, model: MODEL, limit: 2 });
      expect(first.records.map(({ text }) => text)).toEqual(["one", "two"]);
      expect(first).toMatchObject({ more: true, done: 0, total: 3 });
      await put(
        scene,
        first.records.map(({ pos }) => [pos, 0]),
        { upTo: first.upTo },
      );
      const second = await store.findUnembedded({ workspace, model: MODEL, limit: 2 });
      expect(second.records.map(({ text }) => text)).toEqual(["three"]);
      expect(second).toMatchObject({ more: false, total: 3 });
      expect(second.done).toBe(first.upTo);
    });

    it("only what a team knows is embedded, with its labels: no traces, nothing that answers nothing", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await scene.remember([
        scene.record("ada", { content: "known", tags: ["red"], concepts: ["boats"] }),
        scene.record("ada", { content: "plumbing", type: "pin" }),
      ]);
      await scene.remember([scene.record("ada", "a step")], { branch: "trace/s1" });
      const slice = await store.findUnembedded({ workspace, model: MODEL, limit: 10 });
      expect(slice.records.map(({ text }) => text)).toEqual(["known\nred\nboats"]);
      expect(slice).toMatchObject({ more: false, done: 0 });
      await put(scene, [], { upTo: slice.upTo });
      expect((await store.findUnembedded({ workspace, model: MODEL, limit: 10 })).records).toEqual(
        [],
      );
    });

    it("models are kept apart, each with how far it has come [MEM-8]", async ({ scene }) => {
      const { store, workspace } = scene;
      const [one = 0, two = 0] = await remember(scene, ["one", "two"]);
      await put(scene, [
        [one, 0],
        [two, 90],
      ]);
      await put(scene, [[one, 0]], { model: "another", upTo: one });
      const listed = await store.listModels(workspace);
      expect(listed).toMatchObject([
        { model: "another", dimensions: DIMENSIONS, vectors: 1, done: one, total: 2 },
        { model: MODEL, dimensions: DIMENSIONS, vectors: 2, done: two, total: 2 },
      ]);
      expect(await store.listModels("nowhere")).toEqual([]);
    });

    it("what is near in meaning is found without a word of it, the nearest first [MEM-8]", async ({
      scene,
    }) => {
      const positions = await remember(scene, ["north", "east", "north east", "south"]);
      await put(
        scene,
        [0, 70, 45, 180].map((degrees, n) => [positions[n] ?? 0, degrees]),
      );
      const found = await findHits(scene, "", { meant: vectorQuery(10) });
      expect(found.map(contentOf)).toEqual(["north", "north east", "east"]);
      for (const [n, degrees] of [10, 35, 60].entries()) {
        // A byte for each number: some thousandths are lost.
        expect(found[n]?.similarity).toBeCloseTo(Math.cos((degrees * Math.PI) / 180), 1);
      }
      expect(await findHits(scene, "")).toEqual([]);
      expect(await findHits(scene, "", { meant: vectorQuery(10, "unknown") })).toEqual([]);
    });

    it("an answer says how vectors were compared [MEM-8]", async ({ scene }) => {
      const { store } = scene;
      const [one = 0] = await remember(scene, ["one"]);
      const how = async (change: { meant?: QueryVector }) => {
        const answer = await store.search(searchOf(scene, "", change));
        return answer.vectors;
      };
      expect(await how({ meant: vectorQuery(0) })).toBe("none");
      await put(scene, [[one, 0]]);
      expect(await how({})).toBe("none");
      expect(["exact", "quantised", "hnsw"]).toContain(await how({ meant: vectorQuery(0) }));
    });

    it("meaning adds to words, and does not replace them [MEM-8]", async ({ scene }) => {
      const positions = await remember(scene, ["the anchor", "a chain", "anchor and chain"]);
      await put(
        scene,
        [180, 0, 0].map((degrees, n) => [positions[n] ?? 0, degrees]),
      );
      const found = await findHits(scene, "anchor", { meant: vectorQuery(0) });
      expect(found.map(contentOf)).toEqual(["anchor and chain", "the anchor", "a chain"]);
      expect(found[0]?.parts.meaning).toBeGreaterThan(0);
      expect(found[1]?.parts.meaning).toBe(0);
    });

    it("what may not be seen is not found by meaning either [MEM-11]", async ({ scene }) => {
      const [hidden, open] = await scene.remember([
        scene.record("ben", { content: "north", scope: "agent", session: "a" }),
        scene.record("ben", { content: "also north", session: "b" }),
      ]);
      const slice = await scene.store.findUnembedded({
        workspace: scene.workspace,
        model: MODEL,
        limit: 10,
      });
      await put(
        scene,
        slice.records.map(({ pos }) => [pos, 0]),
      );
      const found = await findHits(scene, "", { meant: vectorQuery(0) });
      expect(found.map(({ row }) => row.id)).toEqual([open?.id]);
      expect(found.map(({ row }) => row.id)).not.toContain(hidden?.id);
    });

    it("what a model says again of a record replaces what it said before [MEM-8]", async ({
      scene,
    }) => {
      const positions = await remember(scene, ["turning", "still"]);
      const [turning = 0, still = 0] = positions;
      await put(scene, [
        [turning, 0],
        [still, 90],
      ]);
      expect((await findHits(scene, "", { meant: vectorQuery(0) })).map(contentOf)[0]).toBe(
        "turning",
      );
      await put(scene, [[turning, 180]]);
      expect((await findHits(scene, "", { meant: vectorQuery(80) })).map(contentOf)).toEqual([
        "still",
      ]);
      const [model] = await scene.store.listModels(scene.workspace);
      expect(model).toMatchObject({ vectors: 2, done: still });
    });

    it("vectors of a position where nothing is are not kept", async ({ scene }) => {
      const [one = 0] = await remember(scene, ["one"]);
      await put(
        scene,
        [
          [one, 0],
          [one + 1_000, 0],
        ],
        { upTo: one },
      );
      expect(await scene.store.listModels(scene.workspace)).toMatchObject([{ vectors: 1 }]);
    });

    it("what was redacted while a model read it has no vector, nor what was redacted later [MEM-18]", async ({
      scene,
    }) => {
      const { store, workspace, branch } = scene;
      const [early = 0, late = 0, other = 0] = await remember(scene, ["one", "two", "three"]);
      const redact = async (content: string) => {
        const row = (await scene.everything()).find(({ text }) => text.includes(`"${content}"`));
        const { id = "", text = "" } = row ?? {};
        const outcome = await store.redactBodies({
          ...{ workspace, branch },
          memory: scene.record("ada", { content: "taken away", type: "redaction" }),
          erasures: [{ kind: "memory", id, digest: sha256(text), text: withoutContent(text) }],
        });
        expect(outcome).toMatchObject({ kind: "redacted" });
      };
      await redact("one");
      await put(scene, [
        [early, 0],
        [late, 0],
        [other, 90],
      ]);
      expect(await store.listModels(workspace)).toMatchObject([{ vectors: 2 }]);
      await redact("two");
      expect(await store.listModels(workspace)).toMatchObject([{ vectors: 1 }]);
      const found = await findHits(scene, "", { meant: vectorQuery(0) });
      expect(found.filter(({ similarity = 0 }) => similarity > 0.5)).toEqual([]);
      await scene.close(); // Nothing vouches for what stands there now: that is not what this is about.
    });

    it("a model that was dropped begins anew, and leaves the others alone [MEM-8]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const [one = 0] = await remember(scene, ["north"]);
      await put(scene, [[one, 0]]);
      await put(scene, [[one, 0]], { model: "another" });
      await store.dropModel(workspace, MODEL);
      await store.dropModel(workspace, "unknown");
      expect((await store.listModels(workspace)).map(({ model }) => model)).toEqual(["another"]);
      expect(await findHits(scene, "", { meant: vectorQuery(0) })).toEqual([]);
      expect(await findHits(scene, "", { meant: vectorQuery(0, "another") })).toHaveLength(1);
      const slice = await store.findUnembedded({ workspace, model: MODEL, limit: 10 });
      expect(slice).toMatchObject({ done: 0 });
      expect(slice.records).toHaveLength(1);
    });

    it("vectors are there when the store is opened again [MEM-8]", async ({ scene }) => {
      const positions = await remember(scene, ["north", "east"]);
      await put(scene, [
        [positions[0] ?? 0, 0],
        [positions[1] ?? 0, 90],
      ]);
      await scene.reopen();
      expect((await findHits(scene, "", { meant: vectorQuery(0) })).map(contentOf)[0]).toBe(
        "north",
      );
      expect(await findMatchingIds(scene, "north")).toHaveLength(1);
    });
  });
}

const contentOf = ({ row }: { readonly row: { readonly text: string } }): string =>
  (JSON.parse(row.text) as { content: string }).content;

const withoutContent = (text: string): string =>
  JSON.stringify({ ...(JSON.parse(text) as object), content: "" });

/** Each in a session of its own; where each is. */
async function remember(scene: Scene, contents: readonly string[]): Promise<number[]> {
  const { store, workspace } = scene;
  const known = await store.findUnembedded({ workspace, model: "nobody's", limit: 1_000 });
  await scene.remember(
    contents.map((content, n) => scene.record("ada", { content, session: `s${n}` })),
  );
  const all = await store.findUnembedded({ workspace, model: "nobody's", limit: 1_000 });
  return all.records.slice(known.records.length).map(({ pos }) => pos);
}

/** Positions with the direction each is said to mean. */
function put(
  { store, workspace }: Scene,
  said: readonly (readonly [pos: number, degrees: number])[],
  change: Partial<PutVectors> = {},
): Promise<void> {
  return store.putVectors({
    workspace,
    model: MODEL,
    dimensions: DIMENSIONS,
    vectors: said.map(([pos, degrees]) => ({
      pos,
      vector: direction(degrees),
      signature: sign(direction(degrees)),
    })),
    upTo: Math.max(0, ...said.map(([pos]) => pos)),
    ...change,
  });
}
