/**
 * Every word of a handoff reaches its receiver through MCP and the command line: in the text, or by
 * an id that is returned with it.
 */
import { expect, it, onTestFinished } from "vitest";
import { testStore } from "../cli/baton.ts";
import { plantedDraft, Words } from "../context/view/planted-words.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { throughHub } from "./listen.ts";
import { call, overHttp } from "./support.ts";

const lostIn = (words: Words, read: string): readonly unknown[] =>
  words.live.filter(([word]) => !read.includes(word));

it("MCP accept returns every word, or an id by which read returns it [CTX-12 CTX-13]", async () => {
  const seed = chosenSeed();
  const random = randomFrom(seed);
  const { hub, url, close } = await throughHub();
  onTestFinished(close);
  const words = new Words();
  const ada = await hub.agent("ada", {});
  const cleo = await hub.agent("cleo", {});
  const ben = await overHttp(url, "ben", "2026-07-28");
  await ada.handoff({ ...plantedDraft(random, words), task: "api", to: "cleo" });
  const first = await cleo.accept();
  await first?.handoff({ ...plantedDraft(random, words), to: "ben" });
  const accepted = await call(ben, "accept", { max_tokens: 1_500 });
  const ids = accepted["omitted_ids"] as string[];
  let read = String(accepted["text"]);
  for (const id of ids) {
    const { handle } = accepted;
    const found = await call(ben, "read", {
      ids: [id],
      handle: String(handle),
      max_tokens: 50_000,
    });
    read += String(found["text"]);
  }
  expect(lostIn(words, read), `BATON_SEED=${seed}`).toEqual([]);
});

it("baton view --json returns every word, or an id for baton read [CTX-12 CTX-13]", async () => {
  const seed = chosenSeed();
  const random = randomFrom(seed);
  using store = testStore();
  const words = new Words();
  {
    await using hub = await store.open();
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    await ada.handoff({ ...plantedDraft(random, words), task: "api", to: "ben" });
  }
  const { handle } = JSON.parse((await store.baton("accept", "--as", "ben", "--json")).stdout);
  const how = ["--as", "ben", "--tokens", "1500", "--json"];
  const [{ text, omitted }] = JSON.parse((await store.baton("view", handle, ...how)).stdout);
  let read = String(text);
  for (const { id } of omitted) read += (await store.baton("read", id, "--json")).stdout;
  expect(lostIn(words, read), `BATON_SEED=${seed}`).toEqual([]);
});
