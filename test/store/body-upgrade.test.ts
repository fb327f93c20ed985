/** An index of another version is rebuilt in the background, and handoffs are found meanwhile. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Hub, openHub } from "../../src/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const PAYLOAD = { type: "note", data: { remark: "The heliograph needs mirrors." } };

async function opened(file: string): Promise<Hub> {
  const hub = await openHub(`sqlite:${file}`, { embedder: false });
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
    const { records, indexed } = await hub.index.state();
    return records === indexed;
  });

function newFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  return folder.file("hub.db");
}

describe("a search index of another version", () => {
  it("is rebuilt in the background, while recall still finds handoffs [MEM-19]", async () => {
    const file = newFile();
    const hub = await opened(file);
    const ada = await hub.agent("ada", {});
    const sent = await ada.handoff({ to: "ada", task: "t", intent: "Look", payload: PAYLOAD });
    for (let n = 0; n < 2; n++) {
      await ada.remember(Array.from({ length: 600 }, (_, i) => ({ content: `filler ${i}` })));
    }
    await filled(hub);
    await hub.close();
    change(`${file}.index`, "delete from records; update watermark set version = version - 1");
    const again = await opened(file);
    const found = async () =>
      (await again.recall("heliograph")).items.map(({ memory }) => memory.id);
    expect(await found()).toEqual([sent.memory]);
    await filled(again);
    expect(await found()).toEqual([sent.memory]);
  });
});
