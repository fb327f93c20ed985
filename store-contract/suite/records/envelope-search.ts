/**
 * Tests of search in envelopes: the content of a handoff's envelope is searched and embedded with
 * the memory that vouches for it, for readers who may see that memory, until the envelope is
 * redacted.
 */
import { describe, expect } from "vitest";
import { sha256 } from "../../../src/base/digest.ts";
import { DEFAULT_VERSIONS } from "../../../src/envelope/versions.ts";
import { envelopeStub } from "../../../src/memory/redaction/stub.ts";
import type { SearchMemories } from "../../../src/store/search.ts";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { ANONYMOUS_READER, publicVisibility } from "../../../src/store/visibility.ts";
import type { HandoffInput } from "../handoff-input.ts";
import { redact } from "../maintenance/redacting.ts";
import type { Scene, SceneTest } from "../scene.ts";
import { findHits, findMatchingIds } from "./search.ts";

const MODEL = "test-model";

const draftWith = (words: string): NonNullable<HandoffInput["says"]> => ({
  payload: { type: "note", data: { remark: words } },
});

/** Returns the ids of the memories that match themselves, with the passages that matched. */
async function findPassages(scene: Scene, text: string, change: Partial<SearchMemories> = {}) {
  const all = await findHits(scene, text, change);
  return all.flatMap(({ row, matchedTerms: said, passage }) =>
    said.length > 0 ? [[row.id, passage]] : [],
  );
}

export function envelopeSearch(it: SceneTest): void {
  describe("search in envelopes", () => {
    it("finds a handoff by the content of its envelope, also after reopening [MEM-19]", async ({
      scene,
    }) => {
      const sent = await scene.send({ says: draftWith("mind the heliograph") });
      await scene.send({ task: "other" });
      const expected = [[sent.place.id, "payload: remark: mind the heliograph"]];
      expect(await findPassages(scene, "heliograph")).toEqual(expected);
      await scene.reopen();
      expect(await findPassages(scene, "heliograph")).toEqual(expected);
      expect(await findPassages(scene, "remark")).toEqual(expected);
    });

    it("returns no passage for a match in the memory's own content [MEM-19]", async ({ scene }) => {
      const sent = await scene.send({ says: draftWith("mind the heliograph") });
      expect(await findPassages(scene, "hands over")).toEqual([[sent.place.id, undefined]]);
    });

    it("finds a handoff only for readers who may see its memory [MEM-19]", async ({ scene }) => {
      const sent = await scene.send({ says: draftWith("heliograph"), scope: "agent" });
      const ids = (agent: string) =>
        findMatchingIds(scene, "heliograph", {
          sight: { ...publicVisibility(scene.branch), reader: { ...ANONYMOUS_READER, agent } },
        });
      expect(await ids("ada")).toEqual([sent.place.id]);
      expect(await ids("ben")).toEqual([]);
      expect(await findMatchingIds(scene, "heliograph")).toEqual([]);
    });

    it("finds no handoff whose memory is not visible [MEM-19]", async ({ scene }) => {
      await scene.register("ada", {}, "elsewhere");
      await scene.register("ben", {}, "elsewhere");
      await scene.send({ says: draftWith("heliograph"), where: { workspace: "elsewhere" } });
      const sent = await scene.send({ says: draftWith("heliograph"), where: { branch: "side" } });
      expect(await findMatchingIds(scene, "heliograph")).toEqual([]);
      const sight = publicVisibility("side");
      expect(await findMatchingIds(scene, "heliograph", { sight })).toEqual([sent.place.id]);
      const marked = { ...sight, quarantined: [sent.place.id] };
      expect(await findMatchingIds(scene, "heliograph", { sight: marked })).toEqual([]);
      const before = { ...sight, lines: [{ branch: "side", upTo: sent.place.seq - 1 }] };
      expect(await findMatchingIds(scene, "heliograph", { sight: before })).toEqual([]);
    });

    it("embeds a handoff with the content of its envelope [MEM-19]", async ({ scene }) => {
      const { store, workspace } = scene;
      await scene.send({ says: { ...draftWith("heliograph"), state: "half done" } });
      const { records } = await store.findUnembedded({ workspace, model: MODEL, limit: 10 });
      expect(records.map(({ text }) => text.split("\n"))).toEqual([
        [
          "ada hands over",
          "half done",
          "delegated",
          "do task",
          "note",
          "task",
          "remark: heliograph",
        ],
      ]);
    });

    it("neither finds nor embeds a redacted envelope, but finds its memory [MEM-19]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const sent = await scene.send({ says: draftWith("heliograph") });
      const slice = await store.findUnembedded({ workspace, model: MODEL, limit: 10 });
      const [record] = slice.records;
      const vector = new Float32Array(8).fill(Math.sqrt(1 / 8));
      const put = () =>
        store.putVectors({
          ...{ workspace, model: MODEL, dimensions: 8, upTo: slice.upTo },
          vectors: [{ pos: record?.pos ?? 0, vector, signature: new Uint32Array(4) }],
        });
      await put();
      expect(await store.listModels(workspace)).toMatchObject([{ vectors: 1 }]);
      const { envelope: row } = (await store.findDelivery(
        workspace,
        sent.delivery.id,
      )) as DeliveryWithEnvelopeRow;
      const digest = sha256(row.text);
      await redact(scene, (mark) => {
        const text = envelopeStub({ versions: DEFAULT_VERSIONS }, row, {
          ...mark,
          digest,
          id: row.id,
        });
        return [{ kind: "envelope", id: row.id, digest, text }];
      });
      expect(await store.listModels(workspace)).toMatchObject([{ vectors: 0 }]);
      await put(); // The vector was computed before the redaction.
      expect(await store.listModels(workspace)).toMatchObject([{ vectors: 0 }]);
      expect(await findMatchingIds(scene, "heliograph")).toEqual([]);
      expect(await findMatchingIds(scene, "hands over")).toEqual([sent.place.id]);
    });
  });
}
