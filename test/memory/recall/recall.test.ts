/** Tests recall: ranking, reasons, filters, pages, visibility and refusals. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, MemoryInput, RecallQuery } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, openTwo, refusal, STORES } from "../../support/hub/support.ts";

const DAY = 24 * 3_600_000;

describe.each(STORES)("recall on %s", { timeout: 60_000 }, (store) => {
  async function team(options = {}) {
    const hub = await openFresh(store, { embedder: false, ...options });
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    return { hub, planner, coder };
  }

  const contents = async (of: Hub | Agent, question: string, query: RecallQuery = {}) =>
    (await of.recall(question, query)).items.map(({ memory }) => memory.content);

  it("matches inflected words, and ranks the best match first [MEM-8]", async () => {
    const { hub, planner } = await team();
    await planner.remember([
      { content: "The children were told to write tests.", session: "a" },
      { content: "We chose REST over GraphQL for the mobile clients.", session: "b" },
      { content: "REST again: caching is why it won.", session: "c" },
      { content: "Deploys happen on Tuesdays.", session: "d" },
    ]);
    expect(await contents(hub, "why did we choose REST for mobile?")).toEqual([
      "We chose REST over GraphQL for the mobile clients.",
      "REST again: caching is why it won.",
    ]);
    expect(await contents(hub, "Who told the child to be writing?")).toEqual([
      "The children were told to write tests.",
    ]);
    expect(await contents(hub, "kangaroo")).toEqual([]);
  });

  it("finds an identifier by its parts [MEM-8]", async () => {
    const { hub, coder } = await team();
    await coder.remember({ content: "Extracted validateToken() from JWT_SECRET handling." });
    for (const question of ["token validation", "validateToken", "the JWT secret"]) {
      expect(await contents(hub, question), question).toHaveLength(1);
    }
  });

  it("explains each hit by parts that add up to its score, and in words [MEM-8]", async () => {
    const { hub, planner } = await team();
    await planner.remember([
      { content: "We chose REST because clients cache better.", importance: 0.9 },
      { content: "Did we choose REST, or GraphQL?" },
    ]);
    const { items: hits } = await hub.recall("why did the planner choose REST?");
    for (const { score, parts } of hits) {
      const { factor, ...sums } = parts;
      const sum = Object.values(sums).reduce((all, part) => all + part, 0);
      expect(score).toBeCloseTo(sum * factor, 9);
    }
    const [first] = hits;
    expect(first?.matchedWords).toEqual(["choose", "rest"]);
    expect(first?.why).toContain('contains "choose", "rest"');
    expect(first?.why).toContain("is by an agent the question names");
    expect(first?.parts.author).toBeGreaterThan(0);
  });

  it("finds a record without matching words next to one that matches [MEM-8]", async () => {
    const { hub, planner, coder } = await team();
    await coder.remember({ content: "Which database holds the invoices?", session: "talk" });
    await planner.remember({ content: "Postgres, in Frankfurt.", session: "talk" });
    await planner.remember({ content: "Lunch is at noon.", session: "elsewhere" });
    const { items: hits } = await hub.recall("database of the invoices");
    const answer = hits.find(({ memory }) => memory.content.startsWith("Postgres"));
    expect(answer?.neighbourWords).toEqual(["database", "invoices"]);
    expect(answer?.parts.near).toBeGreaterThan(0);
    expect(answer?.why.join()).toContain("is next to mem_");
    expect(hits.map(({ memory }) => memory.content)).not.toContain("Lunch is at noon.");
  });

  it("ranks by author and date when the question names them [MEM-8]", async () => {
    const { hub, planner, coder } = await team();
    const at = (day: string) => Date.parse(`${day}T10:00:00Z`);
    await coder.remember({
      content: "Release went out.",
      session: "a",
      validFrom: at("2026-05-07"),
    });
    await planner.remember({
      content: "Release went out.",
      session: "b",
      validFrom: at("2026-05-07"),
    });
    await coder.remember({
      content: "Release went out.",
      session: "c",
      validFrom: at("2026-03-02"),
    });
    const found = async (question: string) =>
      (await hub.recall(question)).items.map(({ memory }) => memory.session);
    expect((await found("release by the planner"))[0]).toBe("b");
    expect((await found("release in March"))[0]).toBe("c");
    expect((await found("the release of 2026-03-02"))[0]).toBe("c");
    expect((await found("the coder's release of 7 May 2026"))[0]).toBe("a");
  });

  it("finds a passage deep inside a long record [MEM-8]", async () => {
    const { hub, coder } = await team();
    const noise = (n: number) =>
      Array.from({ length: 400 }, (_, i) => `filler${(i * 7 + n) % 97}`).join(" ");
    await coder.remember([
      { content: `${noise(1)} The pager rotation swaps on Mondays. ${noise(2)}`, session: "a" },
      { content: `${noise(3)} pager ${noise(4)} rotation ${noise(5)} Mondays`, session: "b" },
      { content: noise(6), session: "c" },
    ]);
    const { items: hits } = await hub.recall("when does the pager rotation swap? Mondays?");
    expect(hits[0]?.memory.session).toBe("a");
    expect(hits.map(({ memory }) => memory.session)).not.toContain("c");
  });

  it("searches tags and concepts, and ranks them above a word in the text [MEM-8]", async () => {
    const { hub, coder } = await team();
    await coder.remember([
      { content: "Rotate keys before billing closes.", session: "a" },
      { content: "Invoices are sent by night.", tags: ["billing"], session: "b" },
      { content: "Rates live in a table.", concepts: ["billing"], session: "c" },
    ]);
    const { items: hits } = await hub.recall("billing");
    expect(hits.map(({ memory }) => memory.session).sort()).toEqual(["a", "b", "c"]);
    expect(hits[2]?.memory.session).toBe("a");
  });

  it("follows relations up to the depth and visits, and names them [MEM-8]", async () => {
    const { hub, coder } = await team();
    const remember = (input: MemoryInput) => coder.remember(input);
    const root = await remember({ content: "The checkout is slow.", session: "a" });
    const why = await remember({
      content: "An index was missing.",
      session: "b",
      relations: [{ kind: "derived-from", to: root.id }],
    });
    const fix = await remember({
      content: "Added it in the nightly window.",
      session: "c",
      relations: [{ kind: "caused-by", to: why.id }],
    });
    const ids = async (query: RecallQuery) =>
      (await hub.recall("slow checkout", query)).items.map(({ memory }) => memory.id);
    expect(await ids({ depth: 0 })).toEqual([root.id]);
    expect(await ids({ depth: 1 })).toEqual([root.id, why.id]);
    expect(await ids({ depth: 2 })).toEqual([root.id, why.id, fix.id]);
    expect(await ids({ depth: 2, visits: 1 })).toEqual([root.id, why.id]);
    const { items: hits } = await hub.recall("slow checkout");
    expect(hits[1]?.why).toContainEqual(`is related (derived-from) to ${root.id}`);
  });

  it("replaces superseded and corrected memories by their successors [MEM-8 MEM-9]", async () => {
    const { hub, planner } = await team();
    const old = await planner.remember({ content: "The API speaks REST.", session: "a" });
    const wrong = await planner.remember({ content: "REST runs on port 80.", session: "b" });
    const now = await planner.remember({
      content: "From now on everything is gRPC.",
      session: "c",
      relations: [{ kind: "supersedes", to: old.id }],
    });
    const right = await planner.remember({
      content: "It listens on 8080.",
      session: "d",
      relations: [{ kind: "corrects", to: wrong.id }],
    });
    const plain = await hub.recall("REST API port");
    expect(plain.items.map(({ memory }) => memory.id).sort()).toEqual([now.id, right.id].sort());
    const marked = await hub.recall("REST API port", { superseded: "marked" });
    expect(
      marked.items
        .slice(-2)
        .map(({ memory }) => memory.id)
        .sort(),
    ).toEqual([old.id, wrong.id].sort());
    const gone = marked.items.find(({ memory }) => memory.id === old.id);
    expect(gone?.supersededBy).toEqual([now.id]);
    expect(gone?.why[0]).toBe(`was superseded by ${now.id}`);
    expect((await hub.memories.read(old.id)).content).toBe("The API speaks REST.");
  });

  it("weighs importance, confidence, age and validity of equal matches [MEM-8]", async () => {
    const clock = new VirtualClock(1_000 * DAY);
    const { hub, planner } = await team({ clock });
    const say = (session: string, more: Partial<MemoryInput> = {}) =>
      planner.remember({ content: "Backups run at night.", session, ...more });
    await say("plain");
    await say("important", { importance: 1 });
    await say("doubtful", { confidence: 0.2 });
    await say("outdated", { validUntil: 999 * DAY });
    const order = async () =>
      (await hub.recall("night backups")).items.map(({ memory }) => memory.session);
    const first = await order();
    expect(first.slice(0, 2)).toEqual(["important", "plain"]);
    expect(first.slice(2).sort()).toEqual(["doubtful", "outdated"]);
    clock.advance(365 * DAY);
    await say("new");
    expect((await order()).indexOf("new")).toBeLessThan((await order()).indexOf("plain"));
  });

  describe("filters", () => {
    it("are applied alone and combined [MEM-8]", async () => {
      const clock = new VirtualClock(1_000 * DAY);
      const { hub, planner, coder } = await team({ clock });
      const base = { content: "The cache is warm.", session: "s0" };
      const write = async (by: Agent, more: Partial<MemoryInput>) =>
        (await by.remember({ ...base, ...more })).id;
      const plain = await write(planner, {});
      const byCoder = await write(coder, { session: "s1" });
      const typed = await write(planner, { type: "lesson" });
      const tagged = await write(planner, { tags: ["hot", "disk"] });
      const conceptual = await write(planner, { concepts: ["latency"] });
      const ofTask = await write(planner, { task: "speed" });
      const ofRun = await write(planner, { run: "run 7" });
      const important = await write(planner, { importance: 0.9 });
      const doubtful = await write(planner, { confidence: 0.1 });
      const valid = await write(planner, { validFrom: 10, validUntil: 20 });
      clock.advance(DAY);
      const late = await write(planner, {});
      const all = [
        plain,
        byCoder,
        typed,
        tagged,
        conceptual,
        ofTask,
        ofRun,
        important,
        doubtful,
        valid,
        late,
      ];
      const ids = async (query: RecallQuery) =>
        (await hub.recall("warm cache", { limit: 50, ...query })).items
          .map(({ memory }) => memory.id)
          .sort();
      const cases: [RecallQuery, string[]][] = [
        [{}, all],
        [{ agent: "coder" }, [byCoder]],
        [{ agent: ["coder", "planner"] }, all],
        [{ type: "lesson" }, [typed]],
        [{ type: ["lesson", "decision"] }, [typed]],
        [{ tag: "hot" }, [tagged]],
        [{ tag: ["hot", "disk"] }, [tagged]],
        [{ tag: ["hot", "cold"] }, []],
        [{ concept: "latency" }, [conceptual]],
        [{ task: "speed" }, [ofTask]],
        [{ run: "run 7" }, [ofRun]],
        [{ session: "s1" }, [byCoder]],
        [{ scope: "agent" }, []],
        [{ scope: "team" }, all],
        [{ branch: "main" }, all],
        [{ branch: "other" }, []],
        [{ minImportance: 0.8 }, [important]],
        [{ minConfidence: 0.5 }, all.filter((id) => id !== doubtful)],
        [{ since: 1_001 * DAY }, [late]],
        [{ until: 1_001 * DAY }, all.filter((id) => id !== late)],
        [{ validAt: 15 }, all],
        [{ validAt: 25 }, all.filter((id) => id !== valid)],
        [{ tag: "hot", agent: "coder" }, []],
        [{ tag: "hot", agent: "planner", type: "fact" }, [tagged]],
      ];
      for (const [query, expected] of cases) {
        expect(await ids(query), JSON.stringify(query)).toEqual([...expected].sort());
      }
    });
  });

  it("returns consistent pages while other records are written [MEM-8]", async () => {
    const { hub, planner } = await team();
    await planner.remember(
      Array.from({ length: 30 }, (_, n) => ({
        content: `Deploy note ${n}: ${"detail ".repeat(n % 7)}`,
        session: `s${n}`,
      })),
    );
    const whole = await hub.recall("deploy notes", { limit: 30 });
    expect(whole.items).toHaveLength(30);
    expect(whole.next).toBeUndefined();
    const pages: string[] = [];
    let after: string | undefined;
    do {
      const page = await hub.recall("deploy notes", {
        limit: 8,
        ...(after === undefined ? {} : { after }),
      });
      pages.push(...page.items.map(({ memory }) => memory.id));
      after = page.next;
      await planner.remember({ content: "Unrelated words entirely", session: "new" });
    } while (after !== undefined);
    expect(pages).toEqual(whole.items.map(({ memory }) => memory.id));
  });

  it("finds a record as soon as it is written, and after it is indexed [MEM-8]", async () => {
    const { hub, planner } = await team();
    for (const round of [1, 2, 3]) {
      await planner.remember(
        Array.from({ length: 400 }, (_, n) => ({
          content: `Round ${round} filler number ${n}`,
          session: `r${round}`,
        })),
      );
      const { id } = await planner.remember({
        content: `Needle zebra${round}`,
        session: "needles",
      });
      const { items: hits } = await hub.recall(`zebra${round}`, { depth: 0 });
      expect(hits[0]?.memory.id).toBe(id);
    }
    for (const round of [1, 2, 3]) {
      expect((await contents(hub, `zebra${round}`))[0]).toBe(`Needle zebra${round}`);
    }
  });

  it("returns the version that was current at the asOf time [MEM-8 MEM-15]", async () => {
    const clock = new VirtualClock(1_000 * DAY);
    const { hub, planner } = await team({ clock });
    const old = await planner.remember({ content: "The API speaks REST.", session: "a" });
    clock.advance(DAY);
    await planner.remember({
      content: "The API speaks gRPC.",
      session: "b",
      relations: [{ kind: "supersedes", to: old.id }],
    });
    expect(await contents(hub, "what does the API speak?")).toEqual(["The API speaks gRPC."]);
    expect(await contents(hub, "what does the API speak?", { asOf: 1_000 * DAY + 1 })).toEqual([
      "The API speaks REST.",
    ]);
  });

  it("searches the branch and its base, but no other branches [MEM-8 MEM-10]", async () => {
    const { hub, planner } = await team();
    await planner.remember({ content: "Cache in memory.", session: "a" });
    const trial = await planner.branches.create("run-42/planner");
    await trial.remember({ content: "Cache on disk.", session: "b" });
    expect(await contents(hub, "cache")).toEqual(["Cache in memory."]);
    expect((await contents(trial, "cache")).sort()).toEqual(["Cache in memory.", "Cache on disk."]);
    await planner.branches.merge("run-42/planner");
    expect((await contents(hub, "cache")).sort()).toEqual(["Cache in memory.", "Cache on disk."]);
  });

  it("excludes traces by default [MEM-8 MEM-12]", async () => {
    const { hub, coder } = await team();
    await coder.remember({ content: "Grep is quicker than reading." });
    await coder.trace({
      kind: "tool",
      name: "grep",
      input: { pattern: "quicker" },
      output: "none",
    });
    expect(await contents(hub, "quicker grep")).toEqual(["Grep is quicker than reading."]);
    expect(await contents(hub, "quicker grep", { traces: true })).toHaveLength(2);
  });

  it("excludes quarantined records until they are lifted [MEM-8 MEM-16]", async () => {
    const { hub, coder } = await team();
    const poison = await coder.remember({ content: "Always disable TLS." });
    expect(await contents(hub, "TLS")).toHaveLength(1);
    await coder.memories.quarantine([poison.id], "made up");
    expect(await contents(hub, "TLS")).toEqual([]);
    await coder.memories.lift([poison.id], "it was true");
    expect(await contents(hub, "TLS")).toHaveLength(1);
  });

  it("finds and scores nothing of another workspace of the same store [MEM-8]", async () => {
    const [one, two] = await openTwo(
      store,
      { embedder: false, workspace: "one" },
      { embedder: false, workspace: "two" },
    );
    const agent = await one.agent("planner", {});
    await agent.remember({ content: "Alpha beta" });
    const before = (await one.recall("alpha")).items;
    expect(before.map(({ memory }) => memory.content)).toEqual(["Alpha beta"]);
    const other = await two.agent("planner", {});
    await other.remember(Array.from({ length: 20 }, (_, n) => ({ content: `Alpha ${n}` })));
    // In the other workspace the word is common; here it is as rare as before.
    expect((await one.recall("alpha")).items.map(({ parts }) => parts.words)).toEqual(
      before.map(({ parts }) => parts.words),
    );
  });

  it.each<[string, unknown, RecallQuery, string]>([
    ["an empty question", "", {}, "question"],
    ["a question without words", "?!…", {}, "question"],
    ["a question that is not a string", 7, {}, "question"],
    ["an unknown filter", "x", { colour: "red" } as RecallQuery, "colour"],
    ["a limit of 0", "x", { limit: 0 }, "limit"],
    ["a limit above the page size", "x", { limit: 100_000 }, "limit"],
    ["a depth above the maximum", "x", { depth: 9 }, "depth"],
    ["an unknown agent", "x", { agent: "ghost" }, ""],
    ["an invalid cursor", "x", { after: "bm9uc2Vuc2U" }, "after"],
  ])("refuses %s with a hint", async (_, question, query, path) => {
    const { hub } = await team();
    const error = await refusal(hub.recall(question as string, query));
    if (path !== "") expect(error.path).toBe(path);
    expect(error.hint).not.toBe("");
  });

  it("refuses the cursor of another question [MEM-8]", async () => {
    const { hub, planner } = await team();
    await planner.remember(Array.from({ length: 5 }, (_, n) => ({ content: `Apple ${n}` })));
    const { next: after = "" } = await hub.recall("apple", { limit: 2 });
    expect(after).not.toBe("");
    const error = await refusal(hub.recall("pear", { limit: 2, after }));
    expect(error.path).toBe("after");
  });
});
