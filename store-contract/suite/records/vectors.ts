/**
 * Tests of embedding vectors by model: finding memories without a vector, storing vectors with the
 * progress of the model, searching by meaning, and deleting.
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

/**
 * Returns a direction between two axes: the further from 0 degrees, the less similar to the first.
 */
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
    it("returns memories that a model has not embedded, oldest first, in slices [MEM-8]", async ({
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

    it("embeds memories with their labels, but no traces or internal types", async ({ scene }) => {
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

    it("keeps the vectors and the progress of each model separately [MEM-8]", async ({ scene }) => {
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

    it("finds memories by meaning without a matching word, nearest first [MEM-8]", async ({
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
        // Vectors are quantised to one byte per number, which loses some thousandths.
        expect(found[n]?.similarity).toBeCloseTo(Math.cos((degrees * Math.PI) / 180), 1);
      }
      expect(await findHits(scene, "")).toEqual([]);
      expect(await findHits(scene, "", { meant: vectorQuery(10, "unknown") })).toEqual([]);
    });

    it("reports how vectors were compared [MEM-8]", async ({ scene }) => {
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

    it("adds meaning to word matches without replacing them [MEM-8]", async ({ scene }) => {
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

    it("finds nothing by meaning that the reader may not see [MEM-11]", async ({ scene }) => {
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

    it("replaces the vector of a memory that is embedded again [MEM-8]", async ({ scene }) => {
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

    it("ignores vectors at a position without a memory", async ({ scene }) => {
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

    it("stores no vector of a redacted memory, and deletes it with the redaction [MEM-18]", async ({
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
      await scene.close(); // Skips verification: no record vouches for these redactions.
    });

    it("starts a dropped model from the beginning, and keeps the others [MEM-8]", async ({
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

    it("keeps vectors after reopening [MEM-8]", async ({ scene }) => {
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

/** Stores memories, each in its own session. Returns their positions. */
async function remember(scene: Scene, contents: readonly string[]): Promise<number[]> {
  const { store, workspace } = scene;
  const known = await store.findUnembedded({ workspace, model: "nobody's", limit: 1_000 });
  await scene.remember(
    contents.map((content, n) => scene.record("ada", { content, session: `s${n}` })),
  );
  const all = await store.findUnembedded({ workspace, model: "nobody's", limit: 1_000 });
  return all.records.slice(known.records.length).map(({ pos }) => pos);
}

/** Puts vectors at positions, each with its direction in degrees. */
function put(
  { store, workspace }: Scene,
  directions: readonly (readonly [pos: number, degrees: number])[],
  change: Partial<PutVectors> = {},
): Promise<void> {
  return store.putVectors({
    workspace,
    model: MODEL,
    dimensions: DIMENSIONS,
    vectors: directions.map(([pos, degrees]) => ({
      pos,
      vector: direction(degrees),
      signature: sign(direction(degrees)),
    })),
    upTo: Math.max(0, ...directions.map(([pos]) => pos)),
    ...change,
  });
}
