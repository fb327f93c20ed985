/** Large inputs: limits apply before anything is searched, and the search does not hold up other calls. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openFresh, refusal, STORES } from "../../support/hub/support.ts";

/** Put together here, so that no key stands in this file. */
const TOKEN = `gh${"p_"}Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yAeR3u`;

/** Returns the result of a call, and how often other work got its turn before the call ended. */
async function turnsDuring<T>(call: Promise<T>): Promise<{ result: T; turns: number }> {
  let isOver = false;
  let turns = 0;
  const result = call.finally(() => (isOver = true));
  result.catch(() => {}); // Awaited below.
  while (!isOver) {
    await setImmediate();
    turns++;
  }
  return { result: await result, turns };
}

describe.each(STORES)("an input that is too large, on %s", (store) => {
  it("is refused by its limit before it is searched for secrets [OPS-6]", async () => {
    const hub = await openFresh(store, { secrets: "refuse" });
    const ada = await hub.agent("ada", { role: "planner" });
    const data = { text: `${TOKEN} ${"x".repeat(300_000)}` };
    const attempts: [limit: string, call: () => Promise<unknown>][] = [
      ["memoryBytes", () => ada.remember({ content: "a", data })],
      ["memoryBytes", () => ada.remember([{ content: "a" }, { content: "b", data }])],
      ["traceBytes", () => ada.trace({ kind: "tool", name: "sh", output: data })],
      [
        "envelopeBytes",
        () => ada.handoff({ to: "ada", intent: "Go on", payload: { type: "p", data } }),
      ],
    ];
    for (const [limit, call] of attempts) {
      const error = await refusal(call());
      expect(error).toMatchObject({ code: "limit_exceeded", details: { limit } });
      expect(error.message).not.toContain(TOKEN.slice(4));
    }
    const many = Array.from({ length: 1_001 }, () => ({ content: TOKEN }));
    expect(await refusal(ada.remember(many))).toMatchObject({ details: { limit: "appendBatch" } });
  });
});

describe("a large input", () => {
  const LINES = 60_000;
  const document = `# Facts\n\n${"- The pipeline deploys at noon, key 4 of 7.\n".repeat(LINES)}`;

  it("is searched while the hub does other work [OPS-6]", async () => {
    const hub = await openFresh("memory", { secrets: "refuse" });
    const ada = await hub.agent("ada", { role: "planner" });
    const { result, turns } = await turnsDuring(
      refusal(ada.memories.importMarkdown(`${document}- Use ${TOKEN}\n`)),
    );
    expect(result).toMatchObject({ code: "secret_found", path: "document" });
    expect(turns).toBeGreaterThan(50);
  });

  it("is redacted as a small one is, in texts and in names [OPS-6]", async () => {
    const hub = await openFresh("memory");
    const ada = await hub.agent("ada", { role: "planner" });
    const filler = "The pipeline deploys at noon. ".repeat(3_000);
    const password = "hx8Kq2vLp9";
    const memory = await ada.remember({
      content: `Push with ${TOKEN}`,
      data: { filler, db: { password }, [TOKEN]: 1 },
    });
    expect(memory.content).toBe("Push with [redacted: GitHub token]");
    expect(memory.data).toEqual({
      filler,
      db: { password: "[redacted: password]" },
      "[redacted: GitHub token]": 1,
    });
    expect(memory.secrets?.map(({ path }) => path).sort()).toEqual([
      "content",
      "data.db.password",
      "data.…",
    ]);
  });

  it("keeps the order of its author's calls, and holds up no other author [OPS-6]", async () => {
    const hub = await openFresh("memory");
    const [ada, ben] = [
      await hub.agent("ada", { role: "planner" }),
      await hub.agent("ben", { role: "executor" }),
    ];
    const stored: string[] = [];
    const note = (who: string) => () => stored.push(who);
    const data = { filler: "The pipeline deploys at noon. ".repeat(4_000) };
    await Promise.all([
      ada.remember({ content: "large", data }).then(note("ada: large")),
      ada.remember({ content: "small" }).then(note("ada: small")),
      ben.remember({ content: "other" }).then(note("ben: other")),
    ]);
    expect(stored).toEqual(["ben: other", "ada: large", "ada: small"]);
  });
});
