/** Tests that recall finds the content of handoffs and results, and returns their deliveries. */
import { describe, expect, it } from "vitest";
import type { Agent, Draft, Hit, Hub, HubOptions } from "../../../src/index.ts";
import { type Embedder, toUnit } from "../../../src/search/embedding/embedder.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { freshAddress, open, openFresh, STORES, take } from "../../support/hub/support.ts";

/** Returns a word for a field that occurs nowhere else. */
const planted = (field: string): string => `zeppelin${field.replaceAll(/\W/g, "")}`;

const FIELDS = [
  ...["state", "next", "done", "doNotRedo", "blocked.what", "blocked.on", "rule", "source"],
  ...["question", "option", "did", "decided", "why", "path", "note", "expected", "format"],
  ...["criterion", "type", "key", "nested", "list", "metadata", "model", "run", "touches"],
  ...["summary", "intent"],
];

const draftWith = (memory: string): Draft => ({
  to: "ben",
  task: "auth",
  intent: planted("intent"),
  state: `Now ${planted("state")}`,
  next: ["First", planted("next")],
  done: [planted("done")],
  doNotRedo: [planted("doNotRedo")],
  blocked: [{ what: planted("blocked.what"), on: planted("blocked.on") }],
  constraints: [{ rule: `Never ${planted("rule")}`, source: planted("source") }],
  decisions: [{ question: `${planted("question")}?`, options: ["no", planted("option")] }],
  history: [
    { agent: "ada", did: planted("did"), decided: planted("decided"), why: planted("why") },
  ],
  artifacts: [{ kind: "file", path: `src/${planted("path")}.ts`, note: planted("note") }],
  expects: [
    {
      name: planted("expected"),
      type: "text",
      format: planted("format"),
      criteria: [planted("criterion")],
    },
  ],
  payload: {
    type: planted("type"),
    data: {
      [planted("key")]: 1,
      a: { b: [{ c: planted("nested") }] },
      list: [1, planted("list")],
      embedding: [0.5, 0.25],
    },
  },
  metadata: { model: planted("model"), remark: planted("metadata") },
  run: planted("run"),
  touches: [`src/${planted("touches")}/**`],
  refs: [{ id: memory, summary: planted("summary") }],
});

/** Returns an embedder that counts how often each of a few words occurs. */
function wordCounter(words: readonly string[]): Embedder {
  const count = (text: string, word: string) => text.split(/\W+/).filter((each) => each === word);
  return {
    ...{ model: "words", dimensions: words.length, balanced: false, isLocal: true, longest: 1_000 },
    embed: async (texts) =>
      texts.map((text) => toUnit(Float32Array.from(words, (word) => count(text, word).length))),
  };
}

const hitsOf = async (by: Hub | Agent, question: string, query = {}): Promise<readonly Hit[]> =>
  (await by.recall(question, { depth: 0, ...query })).items.filter(
    ({ matchedWords: said }) => said.length > 0,
  );

const PAYLOAD = { type: "note", data: { remark: "The heliograph needs new mirrors." } };

describe.each(STORES)("recall of handoffs and results on %s", { timeout: 60_000 }, (store) => {
  async function team(options: HubOptions = {}, address = freshAddress(store)) {
    const hub = await open(address, { embedder: false, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    return { hub, address, ada, ben };
  }

  it("finds a handoff by every field, with the passage and its delivery [MEM-19]", async () => {
    const { hub, ada } = await team();
    const memory = await ada.remember({ content: "Something to refer to." });
    const sent = await ada.handoff(draftWith(memory.id));
    await ada.handoff({ to: "ben", task: "other", intent: "Something else", payload: PAYLOAD });
    for (const field of FIELDS) {
      const [hit, ...others] = await hitsOf(hub, planted(field));
      expect(hit?.memory.id, field).toBe(sent.memory);
      expect(others, field).toEqual([]);
      expect(hit?.handoff).toEqual({ envelope: sent.envelope.id, deliveries: [sent.id] });
      if (field === "intent") expect(hit?.passage).toBeUndefined();
      else expect(hit?.passage, field).toContain(planted(field));
      expect(hit?.passage?.length ?? 0).toBeLessThanOrEqual(240);
    }
  });

  it("finds what the hub adds to a handoff: releases and joined results [MEM-19]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ada.handoff({
      to: "ben",
      task: "auth",
      intent: "Choose",
      decisions: [{ id: "cache", question: "Which cache?" }],
    });
    const release = { id: "cache", reason: "measured theodolite", decided: "redis" };
    await (await take(ben)).handoff({ to: "ada", releases: [release] });
    const [released] = await hitsOf(hub, "theodolite", { type: "handoff" });
    expect(released?.passage).toContain("measured theodolite");
    const part = await ada.handoff({ to: "ben", task: "part", intent: "Do a part" });
    const join = await ada.handoffs.join([part], { to: "ada", task: "merge", intent: "Merge" });
    await (await take(ben)).complete({ outputs: { found: "a sextant" } });
    const joined = await hitsOf(hub, "sextant", { task: "merge" });
    expect(joined.map(({ handoff }) => handoff?.deliveries)).toEqual([[join.id]]);
    expect(first.envelope.decisions).toHaveLength(1);
  });

  it("finds results by output and failures by hint, with their delivery [MEM-19]", async () => {
    const { hub, ada, ben } = await team();
    const done = await ada.handoff({ to: "ben", task: "one", intent: "Look" });
    await (await take(ben)).complete({
      summary: "Done.",
      outputs: { report: { cause: "The astrolabe was bent." } },
    });
    const failed = await ada.handoff({ to: "ben", task: "two", intent: "Look again" });
    await (await take(ben)).fail({ message: "No.", hints: ["polish the gyroscope"] });
    const [result] = await hitsOf(hub, "why was the astrolabe bent?");
    expect(result).toMatchObject({
      memory: { agent: "ben", content: "Done." },
      passage: "result: report cause: The astrolabe was bent.",
      handoff: { deliveries: [done.id] },
    });
    const [failure] = await hitsOf(hub, "gyroscope");
    expect(failure).toMatchObject({
      memory: { type: "mistake" },
      passage: "result: hints: polish the gyroscope",
      handoff: { deliveries: [failed.id] },
    });
  });

  it("does not search the data of memories, nor return a handoff for them [MEM-19]", async () => {
    const { hub, ada } = await team();
    await ada.remember({ content: "A fact.", data: { remark: "heliograph" } });
    expect(await hitsOf(hub, "heliograph")).toEqual([]);
    const [hit] = await hitsOf(hub, "fact");
    expect(hit).not.toHaveProperty("handoff");
    expect(hit).not.toHaveProperty("passage");
  });

  it("finds a handoff after reopening the store, and with filters [MEM-19]", async () => {
    const { hub, address, ada } = await team();
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Signal", payload: PAYLOAD });
    const again = store === "memory" ? hub : await open(address, { embedder: false });
    for (const query of [{}, { task: "t" }, { type: "handoff" }, { agent: "ada" }]) {
      expect((await hitsOf(again, "mirrors", query)).map(({ memory }) => memory.id)).toEqual([
        sent.memory,
      ]);
    }
    expect(await hitsOf(again, "mirrors", { task: "other" })).toEqual([]);
  });

  it("respects branches and asOf [MEM-19]", async () => {
    const clock = new VirtualClock();
    const { hub, ada } = await team({ clock });
    const before = clock.now();
    clock.advance(1_000);
    await ada.handoff({ to: "ben", task: "t", intent: "Signal", payload: PAYLOAD });
    expect(await hitsOf(hub, "mirrors", { asOf: before })).toEqual([]);
    expect(await hitsOf(hub, "mirrors", { asOf: clock.now() })).toHaveLength(1);
    const branch = await ada.branches.create("side");
    const payload = { type: "note", data: { remark: "semaphore" } };
    await branch.handoff({ to: "ben", task: "u", intent: "Apart", payload });
    expect(await hitsOf(hub, "semaphore")).toEqual([]);
    expect(await hitsOf(branch, "semaphore")).toHaveLength(1);
  });

  it("hides a quarantined handoff from recall and from SQL similarity [MEM-19]", async () => {
    const embedder = wordCounter(["heliograph", "login"]);
    const { hub, ada } = await team({ embedder });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "login", payload: PAYLOAD });
    await hub.index.embed();
    await ada.memories.quarantine(sent.memory, "made up");
    expect(await hitsOf(hub, "mirrors")).toEqual([]);
    const params = [{ text: "heliograph" }];
    const near = "select cosine_similarity(embedding, ?) as score";
    expect((await hub.memories.sql(`${near} from handoffs`, { params })).rows).toEqual([
      { score: null },
    ]);
    const of = `${near} from memories where type = 'handoff'`;
    expect((await hub.memories.sql(of, { params })).rows).toEqual([]);
  });

  it("finds handoffs and results by the SQL similarity of their content [MEM-19]", async () => {
    const embedder = wordCounter(["heliograph", "astrolabe", "login"]);
    const { hub, ada, ben } = await team({ embedder });
    await ada.remember({ content: "login" });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Signal", payload: PAYLOAD });
    await ada.handoff({ to: "ben", task: "u", intent: "login" });
    await (await take(ben)).complete({ outputs: { cause: "astrolabe" } });
    await hub.index.embed();
    const handoffs = await hub.memories.sql(
      `select id, cosine_similarity(embedding, ?) as score from handoffs
       where embedding is not null order by score desc`,
      { params: [{ text: "heliograph" }] },
    );
    expect(handoffs.rows[0]?.["id"]).toBe(sent.envelope.id);
    expect(handoffs.rows[0]?.["score"]).toBeCloseTo(1, 2);
    expect(handoffs.rows[1]?.["score"]).toBe(0);
    const results = await hub.memories.sql(
      `select d.id, cosine_similarity(m.embedding, ?) as score
       from deliveries d join memories m on m.id = d.settled_by
       where m.embedding is not null order by score desc limit 1`,
      { params: [{ text: "astrolabe" }] },
    );
    expect(results.rows[0]?.["id"]).toBe(sent.id);
    expect(results.rows[0]?.["score"]).toBeCloseTo(1, 2);
  });

  it("does not find what was redacted from a payload or a result [MEM-19]", async () => {
    const embedder = wordCounter(["heliograph", "astrolabe", "login"]);
    const { hub, ada, ben } = await team({ embedder });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "login", payload: PAYLOAD });
    await (await take(ben)).complete({ summary: "Fine.", outputs: { cause: "an astrolabe" } });
    await hub.index.embed();
    expect(await hitsOf(hub, "heliograph")).toHaveLength(1);
    await ada.memories.redact({ text: "The heliograph" }, "leaked");
    await ada.memories.redact({ text: "an astrolabe" }, "leaked");
    await hub.index.embed();
    for (const word of ["heliograph", "mirrors", "astrolabe"]) {
      expect(await hitsOf(hub, word), word).toEqual([]);
    }
    expect((await hitsOf(hub, "login")).map(({ memory }) => memory.id)).toEqual([sent.memory]);
    const params = [{ text: "heliograph astrolabe" }];
    const near = `select cosine_similarity(embedding, ?) as score from memories
      where embedding is not null order by score desc limit 1`;
    expect((await hub.memories.sql(near, { params })).rows[0]?.["score"] ?? 0).toBe(0);
  });

  it("ranks a memory above a handoff whose payload has the same text [MEM-19]", async () => {
    const { hub, ada } = await team();
    const memory = await ada.remember({ content: "The heliograph needs new mirrors." });
    const noise = Array.from({ length: 30 }, (_, n) => `step ${n}: walk around the tower`);
    await ada.handoff({
      to: "ben",
      task: "t",
      intent: "Signal",
      payload: { type: "note", data: { noise, ...PAYLOAD.data } },
    });
    const hits = await hitsOf(hub, "which mirrors does the heliograph need?");
    expect(hits[0]?.memory.id).toBe(memory.id);
    expect(hits).toHaveLength(2);
  });
});

it("recall searches only the start of a long payload, but all other fields [MEM-19]", async () => {
  const hub = await openFresh("sqlite", { embedder: false });
  const ada = await hub.agent("ada", {});
  await ada.handoff({
    to: "ada",
    task: "t",
    intent: "Signal",
    next: ["adjust the theodolite"],
    payload: { type: "note", data: { a: `begin ${"walk ".repeat(20_000)}`, z: "heliograph" } },
  });
  expect(await hitsOf(hub, "begin")).toHaveLength(1);
  expect(await hitsOf(hub, "theodolite")).toHaveLength(1);
  expect(await hitsOf(hub, "heliograph")).toEqual([]);
});
