/** Invalid memories: refused with the path and a hint, and the store does not change. */
import { describe, expect, it } from "vitest";
import { type MemoryInput, openHub } from "../../src/index.ts";
import { brokenTexts, unjsonable, wrongTypes } from "../support/bad-values.ts";
import { refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace } from "../support/team.ts";

const MISSING = "mem_01900000-0000-7000-8000-000000000000";

/** Returns an input with every field. */
async function fullInput(planner: { remember(input: MemoryInput): Promise<{ id: string }> }) {
  const { id } = await planner.remember({ content: "to refer to" });
  return {
    concepts: ["jwt"],
    confidence: 0.5,
    content: "Tokens without exp are accepted",
    data: { file: "src/auth.ts", nested: { note: "deep" } },
    id: "mem_01900000-0000-7000-8000-000000000001",
    importance: 0.5,
    refs: [id],
    relations: [{ kind: "supports" as const, to: id, from: 1, until: 2 }],
    run: "run-1",
    scope: "team" as const,
    session: "morning",
    tags: ["auth"],
    task: "auth-refactor",
    type: "finding",
    validFrom: 1,
    validUntil: 2,
  };
}

describe("memory validation", () => {
  it("refuses a field of the wrong type and names the field", async () => {
    const { file, planner } = await openTeam();
    const good = await fullInput(planner);
    for (const { title, path, input } of wrongTypes(good)) {
      const at = new RegExp(`^${path}\\b`);
      const expected = { code: "invalid_memory", path: at } as const;
      await refusedWithoutTrace(file, () => planner.remember(input as never), expected).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
  });

  it("refuses NUL or half a surrogate pair in any text and names the field", async () => {
    const { file, planner } = await openTeam();
    for (const { title, path, input } of brokenTexts(await fullInput(planner))) {
      const expected = { code: "invalid_memory", path } as const;
      await refusedWithoutTrace(file, () => planner.remember(input as never), expected).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
  });

  it.each(unjsonable())("refuses %s in the data, with rule and path", async (_, value, rule) => {
    const { file, planner } = await openTeam();
    const expected = { code: "invalid_memory", path: /^data\.list\[1\]/, rule } as const;
    const input = { content: "x", data: { list: ["ok", value] } };
    await refusedWithoutTrace(file, () => planner.remember(input as never), expected);
  });

  it.each([undefined, null, 42, "text", true, () => 1, Symbol("s"), 10n, new Date(0), new Map()])(
    "refuses an input that is not an object: %s",
    async (input) => {
      const { file, planner } = await openTeam();
      const expected = { code: "invalid_memory" } as const;
      await refusedWithoutTrace(file, () => planner.remember(input as never), expected);
    },
  );

  it("reports every violation at once", async () => {
    const { planner } = await openTeam();
    const input = { content: "", type: "No Slug", confidence: 2, tags: [1], unknown: true };
    const error = await refused(() => planner.remember(input as never), { code: "invalid_memory" });
    expect(error.violations.map(({ path, rule }) => `${path} ${rule}`).sort()).toEqual([
      "confidence max_value",
      "content min_length",
      "tags[0] type",
      "type format",
      "unknown unknown_field",
    ]);
    for (const violation of error.violations) expect(violation.hint).not.toBe("");
  });

  it.each([
    ["content", { content: "x".repeat(64_001) }, "max_length"],
    ["tags", { content: "x", tags: Array.from({ length: 33 }, (_, n) => `t${n}`) }, "max_items"],
    ["concepts", { content: "x", concepts: Array(33).fill("c") }, "max_items"],
    ["refs", { content: "x", refs: Array(501).fill(MISSING) }, "max_items"],
    [
      "relations",
      { content: "x", relations: Array(513).fill({ kind: "supports", to: MISSING }) },
      "max_items",
    ],
    ["task", { content: "x", task: "t".repeat(129) }, "max_length"],
    [
      "relations[0].until",
      { content: "x", relations: [{ kind: "supports", to: MISSING, from: 2, until: 1 }] },
      "custom",
    ],
    ["relations[0].kind", { content: "x", relations: [{ kind: "likes", to: MISSING }] }, "one_of"],
    ["refs[0]", { content: "x", refs: ["mem_1"] }, "format"],
    ["confidence", { content: "x", confidence: -0.1 }, "min_value"],
    ["validFrom", { content: "x", validFrom: 1.5 }, "type"],
  ])("refuses a value over the limit or of the wrong format at %s", async (path, input, rule) => {
    const { file, planner } = await openTeam();
    const expected = { code: "invalid_memory", path, rule } as const;
    await refusedWithoutTrace(file, () => planner.remember(input as never), expected);
  });

  it("refuses a memory over the size limit, naming the limit, the size and the option", async () => {
    const { file, planner } = await openTeam({ limits: { memoryBytes: 2_000 } });
    const input = { content: "fits", data: { much: "x".repeat(2_000) } };
    const expected = { code: "limit_exceeded", hint: /memoryBytes/ } as const;
    const error = await refusedWithoutTrace(file, () => planner.remember(input), expected);
    expect(error.details).toMatchObject({ limit: "memoryBytes", max: 2_000 });
    expect(error.details["actual"]).toBeGreaterThan(2_000);
  });

  it("refuses a reference or relation to an unknown memory, and names it", async () => {
    const { file, planner } = await openTeam();
    for (const input of [
      { content: "x", refs: [MISSING] },
      { content: "x", relations: [{ kind: "supports" as const, to: MISSING }] },
    ]) {
      const expected = { code: "dangling_reference", path: "refs" } as const;
      const error = await refusedWithoutTrace(file, () => planner.remember(input), expected);
      expect(error.details).toMatchObject({ reference: MISSING });
    }
  });

  it("refuses a reference to a record of another workspace, as if it did not exist", async () => {
    const { file, hub, planner } = await openTeam();
    await using elsewhere = await openHub(`sqlite:${file}`, { workspace: "elsewhere" });
    const stranger = await elsewhere.agent("stranger", { role: "x" });
    const { id } = await stranger.remember({ content: "secret" });
    const act = () => planner.remember({ content: "x", refs: [id] });
    await refusedWithoutTrace(file, act, { code: "dangling_reference" });
    await refusedWithoutTrace(file, () => planner.memories.read(id), { code: "unknown_memory" });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("refuses an id with different content, and returns the original record for the same content", async () => {
    const { file, planner } = await openTeam();
    const id = "mem_01900000-0000-7000-8000-000000000002";
    const first = await planner.remember({ id, content: "said once" });
    expect(await planner.remember({ id, content: "said once" })).toEqual(first);
    const act = () => planner.remember({ id, content: "said otherwise" });
    await refusedWithoutTrace(file, act, { code: "id_conflict", path: "id" });
  });
});

describe("a batch of memories", () => {
  it("is refused as a whole when one memory is invalid, and names it", async () => {
    const { file, planner } = await openTeam();
    const act = () => planner.remember([{ content: "good" }, { content: "" }, { content: "good" }]);
    await refusedWithoutTrace(file, act, { code: "invalid_memory", path: "[1].content" });
  });

  it("is refused as a whole when a memory refers to a later one, but not to an earlier one", async () => {
    const { file, planner } = await openTeam();
    const later = "mem_01900000-0000-7000-8000-000000000003";
    const pointing = { content: "first", refs: [later] };
    const pointed = { content: "second", id: later };
    const act = () => planner.remember([{ content: "good" }, pointing, pointed]);
    const error = await refusedWithoutTrace(file, act, {
      code: "dangling_reference",
      path: "refs",
    });
    expect(error.details).toMatchObject({ reference: later });
    expect(await planner.remember([pointed, pointing])).toHaveLength(2);
  });

  it("is refused as a whole when two memories have the same id", async () => {
    const { file, planner } = await openTeam();
    const id = "mem_01900000-0000-7000-8000-000000000004";
    const act = () =>
      planner.remember([
        { id, content: "a" },
        { id, content: "b" },
      ]);
    await refusedWithoutTrace(file, act, { code: "id_conflict", path: "id" });
  });

  it("does not affect other writes of the same commit when it is refused", async () => {
    const { planner } = await openTeam();
    const [good, bad, dangling, alsoGood] = await Promise.allSettled([
      planner.remember({ content: "good" }),
      planner.remember([{ content: "a" }, { content: "b", refs: [MISSING] }]),
      planner.remember({ content: "x", refs: [MISSING] }),
      planner.remember({ content: "also good" }),
    ]);
    expect([good.status, bad.status, dangling.status, alsoGood.status]).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    const contents = (await planner.memories.recent()).items.map(({ content }) => content);
    expect(contents.sort()).toEqual(["also good", "good"]);
  });

  it("is refused when it is empty or over the limit", async () => {
    const { file, planner } = await openTeam({ limits: { appendBatch: 3 } });
    await refusedWithoutTrace(file, () => planner.remember([]), { code: "invalid_input" });
    const four = Array.from({ length: 4 }, () => ({ content: "x" }));
    const expected = { code: "limit_exceeded", path: "memories", hint: /appendBatch/ } as const;
    await refusedWithoutTrace(file, () => planner.remember(four), expected);
  });
});
