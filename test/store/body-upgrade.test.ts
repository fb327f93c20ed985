/**
 * A store of an earlier version, whose index and vectors know only the contents of handoffs: both are
 * made anew in the background, and what handoffs say is found meanwhile.
 */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Embedder, type Hub, openHub } from "../../src/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const PAYLOAD = { type: "note", data: { remark: "The heliograph needs mirrors." } };

/** Tells texts with one word from all others, and keeps what it is given. */
function listening(): Embedder & { readonly texts: string[] } {
  const texts: string[] = [];
  return {
    ...{ model: "m", dimensions: 2, balanced: false, isLocal: true, longest: 10_000, texts },
    embed: async (given) => {
      texts.push(...given);
      return given.map((text) => Float32Array.from(text.includes("heliograph") ? [1, 0] : [0, 1]));
    },
  };
}

async function opened(file: string, embedder: Embedder | false): Promise<Hub> {
  const hub = await openHub(`sqlite:${file}`, { embedder });
  onTestFinished(() => hub.close());
  return hub;
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

const filled = (hub: Hub) =>
  until("the index is filled", async () => {
    const { records, indexed } = await hub.indexState();
    return records === indexed;
  });

function newFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  return folder.file("hub.db");
}

describe("a store of an earlier version", () => {
  it("is indexed anew in the background, and found meanwhile [MEM-19]", async () => {
    const file = newFile();
    const hub = await opened(file, false);
    const ada = await hub.agent("ada", {});
    const sent = await ada.handoff({ to: "ada", task: "t", intent: "Look", payload: PAYLOAD });
    for (let n = 0; n < 2; n++) {
      await ada.remember(Array.from({ length: 600 }, (_, i) => ({ content: `filler ${i}` })));
    }
    await filled(hub);
    await hub.close();
    change(`${file}.index`, "delete from records; update watermark set version = version - 1");
    const again = await opened(file, false);
    const found = async () =>
      (await again.recall("heliograph")).hits.map(({ memory }) => memory.id);
    expect(await found()).toEqual([sent.memory]);
    await filled(again);
    expect(await found()).toEqual([sent.memory]);
  });

  it("gets new vectors for handoffs and results, and for nothing else [MEM-19]", async () => {
    const file = newFile();
    const hub = await opened(file, listening());
    const ada = await hub.agent("ada", {});
    await ada.remember([{ content: "one" }, { content: "two" }]);
    await ada.handoff({ to: "ada", task: "t", intent: "Look", payload: PAYLOAD });
    await (await ada.accept())?.complete({ summary: "Done.", outputs: { report: "fine" } });
    await ada.remember({ content: "three" });
    await hub.embed();
    await hub.close();
    // As the version before left it: vectors of the contents, up to the end.
    change(file, "update models set renewed = 0; update vectors set vector = x'0000000000000000'");
    const embedder = listening();
    const again = await opened(file, embedder);
    await again.embed();
    expect(embedder.texts.map((text) => text.split("\n")[0])).toEqual(["ada → ada: Look", "Done."]);
    expect(embedder.texts[0]).toContain("heliograph");
    expect(await again.models()).toMatchObject([{ done: 6, total: 6 }]);
    const { rows } = await again.sql(
      "select task, cosine_similarity(embedding, ?) as score from handoffs",
      { params: [{ text: "heliograph" }] },
    );
    expect(rows).toEqual([{ task: "t", score: 1 }]);
    await again.embed();
    expect(embedder.texts).toHaveLength(3);
  });
});
