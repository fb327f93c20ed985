/**
 * Tests of `findInbound()`: edges that point to any of several memories, to trace what was built on
 * them.
 */
import { describe, expect } from "vitest";
import type { FindInbound } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
const ELSEWHERE = "elsewhere";

export function inbound(it: SceneTest): void {
  describe("inbound edges", () => {
    it("are found for several memories, by kind, oldest first [MEM-16]", async ({ scene }) => {
      const { first, second } = await createTwo(scene);
      const one = await createPointing(scene, ["supports", second], ["derived-from", first]);
      const other = await createPointing(scene, ["corrects", first], ["supports", first]);
      const edge = (source: string, kind: string, target: string) => ({
        ...{ source, kind, target, validFrom: 0, validUntil: 0 },
      });
      const both = { memories: [first, second], kinds: ["supports", "derived-from"] };
      expect(await findInbound(scene, both)).toEqual([
        edge(one, "supports", second),
        edge(one, "derived-from", first),
        edge(other, "supports", first),
      ]);
      expect(await findInbound(scene, { ...both, memories: [second] })).toEqual([
        edge(one, "supports", second),
      ]);
      expect(await findInbound(scene, { ...both, kinds: ["corrects"] })).toEqual([
        edge(other, "corrects", first),
      ]);
      expect(await findInbound(scene, { ...both, limit: 2 })).toHaveLength(2);
      await scene.reopen();
      expect(await findInbound(scene, both)).toHaveLength(3);
    });

    it("include a reference once, even if a relation repeats it [MEM-16]", async ({ scene }) => {
      const { first, second } = await createTwo(scene);
      const { id } = expectSingle(
        await scene.remember([
          scene.record("ada", {
            content: "see",
            refs: [second, first, second],
            relations: [{ kind: "references", to: first }],
          }),
        ]),
      );
      const found = await findInbound(scene, { memories: [first, second], kinds: ["references"] });
      expect(found.map(({ source, target }) => [source, target])).toEqual([
        [id, first],
        [id, second],
      ]);
    });

    it("are none for unknown memories, another workspace, or without memories or kinds [MEM-16]", async ({
      scene,
    }) => {
      const { first, second } = await createTwo(scene);
      await createPointing(scene, ["supports", first]);
      const kinds = ["supports"];
      expect(await findInbound(scene, { memories: [UNKNOWN_MEMORY, second], kinds })).toEqual([]);
      expect(await findInbound(scene, { memories: [], kinds })).toEqual([]);
      expect(await findInbound(scene, { memories: [first], kinds: [] })).toEqual([]);
      expect(await findInbound(scene, { memories: [first], kinds, workspace: ELSEWHERE })).toEqual(
        [],
      );
    });

    it("are found on every branch and regardless of scopes [MEM-16]", async ({ scene }) => {
      const { first } = await createTwo(scene);
      const hidden = scene.record("ada", { content: "x", scope: "agent", refs: [first] });
      const aside = scene.record("ada", { content: "y", refs: [first] });
      await scene.remember([hidden]);
      await scene.remember([aside], { branch: "aside" });
      const found = await findInbound(scene, { memories: [first], kinds: ["references"] });
      expect(found.map(({ source }) => source)).toEqual([hidden.id, aside.id]);
    });
  });
}

async function createTwo(
  scene: Scene,
): Promise<{ readonly first: string; readonly second: string }> {
  const list = [scene.record("ada", "first"), scene.record("ada", "second")];
  const [first, second] = await scene.remember(list);
  return { first: first?.id ?? "", second: second?.id ?? "" };
}

type Kind = "supports" | "derived-from" | "corrects";

async function createPointing(scene: Scene, ...edges: readonly [Kind, string][]): Promise<string> {
  const relations = edges.map(([kind, to]) => ({ kind, to }));
  return expectSingle(await scene.remember([scene.record("ada", { content: "x", relations })])).id;
}

const findInbound = ({ store, workspace }: Scene, about: Partial<FindInbound>) =>
  store.findInbound({ workspace, memories: [], kinds: [], limit: 100, ...about });
