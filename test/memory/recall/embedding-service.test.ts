/** Tests recall by meaning, and that recall by words works whatever the embedder does. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  BatonError,
  type Embedder,
  type Hub,
  httpEmbedder,
  type RecallResult,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openFresh, STORES } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

/** Returns an embedder that knows three topics by their words and records the texts it gets. */
function topical(model: string): Embedder & { readonly texts: string[] } {
  const topics = [/cat|feline|kitten/i, /car|vehicle|truck/i, /tax|levy|duty/i];
  const texts: string[] = [];
  return {
    model,
    dimensions: 3,
    balanced: false,
    isLocal: true,
    longest: 1_000,
    texts,
    embed: async (asked) => {
      texts.push(...asked);
      return asked.map((text) => {
        const vector = Float32Array.from(topics, (topic) => (topic.test(text) ? 1 : 0));
        const length = Math.hypot(...vector) || 1;
        return vector.map((value) => value / length);
      });
    },
  };
}

/** Recalls until there is a hit: a question starts the embedding and waits a second for it. */
async function recalled(hub: Hub, question: string): Promise<RecallResult> {
  return until(`an answer to "${question}"`, async () => {
    const answer = await hub.recall(question);
    return answer.items.length > 0 && answer;
  });
}

describe.each(STORES)("recall by meaning on %s", { timeout: 60_000 }, (store) => {
  const contents = [
    "Our feline sleeps in the server room.",
    "The truck brings the racks on Monday.",
    "A levy of nine percent applies.",
    "Nothing to see here.",
  ];

  it("finds memories in other words, and reports how similar they are [MEM-8]", async () => {
    const hub = await openFresh(store, { embedder: topical("topics 1") });
    const agent = await hub.agent("writer", {});
    await agent.remember(contents.map((content, n) => ({ content, session: `s${n}` })));
    const { items: hits, meaning } = await recalled(hub, "where is the kitten?");
    expect(hits[0]?.memory.content).toBe(contents[0]);
    expect(hits[0]?.parts.meaning).toBeGreaterThan(0);
    expect(hits[0]?.why.join()).toContain("similar meaning (1.00)");
    expect(meaning).not.toBe("none");
    const words = await hub.recall("where is the kitten?", { meaning: false });
    expect(words.items).toEqual([]);
    expect(words.meaning).toBe("not requested");
  });

  it("prefers meaning when few words match, and words when most do [MEM-8]", async () => {
    const hub = await openFresh(store, { embedder: topical("topics 1") });
    const agent = await hub.agent("writer", {});
    const chance = "Usually the window at the back is left open.";
    await agent.remember(
      [...contents, chance].map((content, n) => ({ content, session: `s${n}` })),
    );
    await hub.index.embed();
    const first = async (question: string) => (await hub.recall(question)).items[0]?.memory.content;
    expect(await first("Whereabouts does our youngest kitten usually spend evenings?")).toBe(
      contents[0],
    );
    expect(await first("Does the kitten usually leave by the window at the back?")).toBe(chance);
  });

  it("works offline with the bundled word vectors [MEM-8]", async () => {
    const hub = await openFresh(store);
    const agent = await hub.agent("writer", {});
    await agent.remember([
      { content: "The physician prescribed rest.", session: "a" },
      { content: "The bridge needs a coat of paint.", session: "b" },
      { content: "Invoices are due on Friday.", session: "c" },
    ]);
    const { items: hits } = await recalled(hub, "doctor");
    expect(hits[0]?.memory.session).toBe("a");
  });

  it("embeds after the write returns, resumes, and reports progress [MEM-8]", async () => {
    const reopen = sharedStore(store);
    const first = topical("topics 1");
    const hub = await hubOn(store, await reopen(), { embedder: first });
    const agent = await hub.agent("writer", {});
    await agent.remember(
      Array.from({ length: 300 }, (_, n) => ({ content: `${contents[n % 4]} ${n}` })),
    );
    expect(first.texts, "nothing yet: writing does not wait for it").toEqual([]);
    const steps: number[] = [];
    await hub.index.embed(({ done }) => steps.push(done));
    expect(steps.length).toBeGreaterThan(1);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(first.texts).toHaveLength(300);
    await agent.remember({ content: "One more cat" });
    await hub.index.embed();
    expect(first.texts, "only the new one").toHaveLength(301);
    const again = topical("topics 1");
    await (await hubOn(store, await reopen(), { embedder: again })).index.embed();
    expect(again.texts, "another process starts where the last one stopped").toEqual([]);
    const [state] = await hub.index.models();
    expect(state).toMatchObject({ model: "topics 1", dimensions: 3 });
    expect(state?.done).toBe(state?.total);
  });

  it("embeds again when the model changes, and compares within one model [MEM-8]", async () => {
    const reopen = sharedStore(store);
    const hub = await hubOn(store, await reopen(), { embedder: topical("topics 1") });
    const agent = await hub.agent("writer", {});
    await agent.remember(contents.map((content, n) => ({ content, session: `s${n}` })));
    await hub.index.embed();
    const second = topical("topics 2");
    const other = await hubOn(store, await reopen(), { embedder: second });
    await other.index.embed();
    expect(second.texts).toEqual(contents);
    expect((await other.recall("kitten")).items[0]?.memory.content).toBe(contents[0]);
    expect((await other.index.models()).map(({ model }) => model)).toEqual([
      "topics 1",
      "topics 2",
    ]);
    await other.index.deleteModel("topics 1");
    expect((await other.index.models()).map(({ model }) => model)).toEqual(["topics 2"]);
    expect((await other.recall("kitten")).items[0]?.memory.content).toBe(contents[0]);
  });

  it("falls back to words when the embedder fails, and retries it later [MEM-8]", async () => {
    const clock = new VirtualClock();
    const embedder = { ...topical("topics 1"), isLocal: false };
    let broken = true;
    const hub = await openFresh(store, {
      clock,
      embedder: {
        ...embedder,
        embed: async (texts) => {
          if (broken) throw new Error("out of credit");
          return embedder.embed(texts);
        },
      },
    });
    const agent = await hub.agent("writer", {});
    await agent.remember({ content: "A cat and a levy." });
    const { items: hits, meaning } = await hub.recall("levy");
    expect(hits).toHaveLength(1);
    expect(meaning).toContain("out of credit");
    broken = false;
    clock.advance(60_000);
    await hub.index.embed();
    expect((await hub.recall("duty")).items).toHaveLength(1);
  });

  it.each<[string, (texts: readonly string[]) => Promise<readonly Float32Array[]>]>([
    ["too few vectors", async (texts) => texts.slice(1).map(() => new Float32Array(3))],
    ["vectors of another length", async (texts) => texts.map(() => new Float32Array(4).fill(0.5))],
    [
      "values that are not numbers",
      async (texts) => texts.map(() => new Float32Array(3).fill(Number.NaN)),
    ],
  ])("falls back to words when the embedder returns %s [MEM-8]", async (_, embed) => {
    const hub = await openFresh(store, { embedder: { ...topical("topics 1"), embed } });
    const agent = await hub.agent("writer", {});
    await agent.remember([{ content: "A cat and a levy." }, { content: "Another one." }]);
    const { items: hits, meaning } = await hub.recall("levy");
    expect(hits[0]?.memory.content).toBe("A cat and a levy.");
    expect(meaning).toContain("topics 1");
    expect((await hub.index.models()).filter(({ vectors }) => vectors > 0)).toEqual([]);
  });

  it("does not wait indefinitely for an embedder that never responds [MEM-8]", async () => {
    const never = () => new Promise<never>(() => {});
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const soon = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 100));
    onTestFinished(() => soon.mockRestore());
    const hub = await openFresh(store, {
      embedder: { ...topical("topics 1"), isLocal: false, embed: never },
    });
    const agent = await hub.agent("writer", {});
    await agent.remember({ content: "A cat and a levy." });
    expect((await hub.recall("levy")).items).toHaveLength(1);
    expect(soon).toHaveBeenCalledWith(5_000);
    await hub.close();
  });

  it("skips a text that the embedder refuses, and embeds the others [MEM-8]", async () => {
    const local = topical("topics 1");
    const hub = await openFresh(store, {
      embedder: {
        ...local,
        isLocal: false,
        embed: async (texts) => {
          if (texts.some((text) => text.includes("forbidden"))) {
            throw new BatonError("embedder_invalid", { message: "No.", hint: "None." });
          }
          return local.embed(texts);
        },
      },
    });
    const agent = await hub.agent("writer", {});
    await agent.remember([
      { content: "A forbidden word.", session: "a" },
      { content: "Our feline sleeps.", session: "b" },
    ]);
    await hub.index.embed();
    expect((await hub.recall("kitten")).items[0]?.memory.session).toBe("b");
    expect((await hub.recall("forbidden word", { meaning: false })).items).toHaveLength(1);
  });

  it("starts over when a model of the same name has other dimensions [MEM-8]", async () => {
    const reopen = sharedStore(store);
    const hub = await hubOn(store, await reopen(), { embedder: topical("topics 1") });
    await (await hub.agent("writer", {})).remember({ content: "Our feline sleeps." });
    await hub.index.embed();
    const local = topical("topics 1");
    const wider: Embedder = {
      ...local,
      dimensions: 4,
      embed: async (texts) =>
        (await local.embed(texts)).map((vector) => Float32Array.from([...vector, 0])),
    };
    const other = await hubOn(store, await reopen(), { embedder: wider });
    await other.index.embed();
    expect((await other.recall("kitten")).items).toHaveLength(1);
    expect(await other.index.models()).toMatchObject([
      { model: "topics 1", dimensions: 4, vectors: 1 },
    ]);
  });

  it("embeds a text that is too long in parts, and finds it by each [MEM-8]", async () => {
    const embedder = topical("topics 1");
    const hub = await openFresh(store, { embedder });
    const agent = await hub.agent("writer", {});
    await agent.remember({ content: `cat ${"and so on ".repeat(200)} truck` });
    await hub.index.embed();
    expect(embedder.texts.length).toBeGreaterThan(1);
    expect(embedder.texts.every((text) => text.length <= 1_000)).toBe(true);
    expect((await hub.recall("feline")).items).toHaveLength(1);
    expect((await hub.recall("vehicle")).items).toHaveLength(1);
  });

  it("uses a server with the OpenAI embeddings API [MEM-8]", async () => {
    const local = topical("x");
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
      const vectors = await local.embed(input);
      const data = vectors.map((vector, index) => ({ index, embedding: [...vector, 0.01] }));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ data: data.reverse() }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    const hub = await openFresh(store, {
      embedder: () => httpEmbedder({ url: `http://127.0.0.1:${port}/v1`, model: "topics" }),
    });
    const agent = await hub.agent("writer", {});
    await agent.remember(contents.map((content, n) => ({ content, session: `s${n}` })));
    await hub.index.embed();
    expect((await hub.recall("kitten")).items[0]?.memory.content).toBe(contents[0]);
  });
});
