/** Tokenizers by model, counts of blocks, and token budgets. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { budgetOf, DEFAULT_TOKENS, usableTokens } from "../../src/context/view/budget.ts";
import { NEUTRAL_PROFILE } from "../../src/profiles/role-profiles.ts";
import { countBlock, ENCODINGS, exactTokenizer, tokenizerFor } from "../../src/text/tokens.ts";
import { randomText } from "../context/view/random-view.ts";
import { BUILD } from "../support/build/place.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";

describe("a tokenizer", () => {
  it.each([
    ["gpt-4o-mini", "o200k_base"],
    ["gpt-4.1", "o200k_base"],
    ["openai/gpt-5-codex", "o200k_base"],
    ["o3-mini", "o200k_base"],
    ["gpt-oss-120b", "o200k_base"],
    ["gpt-4", "cl100k_base"],
    ["gpt-4-turbo-2024-04-09", "cl100k_base"],
    ["GPT-3.5-turbo", "cl100k_base"],
    ["text-davinci-003", "p50k_base"],
  ])("of %s is %s, with an exact count [CTX-2]", async (model, name) => {
    expect(await tokenizerFor(model)).toMatchObject({ name, exact: true, margin: 0 });
  });

  it.each(["claude-opus-4-5", "gemini-3-pro", "llama-4", "mistral-large", "o", "", undefined])(
    "of %s is not public, so the count is an estimate with a margin [CTX-2]",
    async (model) => {
      expect(await tokenizerFor(model)).toMatchObject({
        name: "o200k_base",
        exact: false,
        margin: 0.25,
      });
    },
  );

  it("counts control tokens in stored text as text", async () => {
    const { count } = await exactTokenizer("o200k_base");
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
  });

  it("counts blocks alone as together if they end a line and start without space or slash [CTX-2]", async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    for (const name of ENCODINGS) {
      const { count } = await exactTokenizer(name);
      for (let run = 0; run < runs(2_000); run++) {
        const blocks = Array.from(
          { length: 2 + random.below(4) },
          () => `${random.pick(["-", "#", "(", "«", "x", "7"])}${randomText(random, 12)}»\n`,
        );
        const alone = blocks.reduce((sum, block) => sum + count(block), 0);
        expect(count(blocks.join("")), `BATON_SEED=${seed} ${JSON.stringify(blocks)}`).toBe(alone);
      }
    }
  });

  it("counts what the published tokenizer counts [CTX-2]", async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    for (const name of ENCODINGS) {
      const { count } = await exactTokenizer(name);
      const { countTokens } = await import(`gpt-tokenizer/encoding/${name}`);
      for (let run = 0; run < runs(3_000); run++) {
        const text = randomText(random, 1 + random.below(60));
        const published: number = countTokens(text, { disallowedSpecial: new Set() });
        expect(count(text), `BATON_SEED=${seed} ${JSON.stringify(text)}`).toBe(published);
      }
    }
  });

  it.each(ENCODINGS)("has the published ranks in the built package: %s", async (name) => {
    const { default: ranks } = await import(`gpt-tokenizer/bpeRanks/${name}`);
    const built = readFileSync(join(BUILD, "dist", "ranks", `${name}.json`), "utf8");
    expect(built === JSON.stringify(ranks)).toBe(true);
  });

  it("counts an overlong word by its bytes [CTX-2]", async () => {
    const { count } = await exactTokenizer("o200k_base");
    const word = "=-".repeat(32_000);
    expect(count(`Before.\n${word}\nAfter.`)).toBe(count("Before.\n") + 64_001 + count("After."));
    const longest = "x".repeat(399);
    expect(count(longest)).toBeLessThan(100);
    expect(count(`${longest}x`)).toBe(400);
  });

  it("counts a block that never changes only once", async () => {
    const tokenizer = await exactTokenizer("o200k_base");
    let asked = 0;
    const text = (): string => {
      asked++;
      return "as it was written";
    };
    const counts = [1, 2, 3].map(() => countBlock(tokenizer, "asked once", text));
    expect(new Set(counts)).toEqual(new Set([tokenizer.count("as it was written")]));
    expect(asked).toBe(1);
  });
});

describe("a token budget", () => {
  const exact = { name: "o200k_base", exact: true, margin: 0 } as const;
  const asked = {
    tokens: undefined,
    envelope: undefined,
    profile: NEUTRAL_PROFILE,
    receiver: { window: undefined },
    tokenizer: exact,
  };

  it("is taken from the call, the envelope, the role, the window less reserves, or the default [CTX-2]", () => {
    const receiver = { window: 100_000 };
    const profile = { ...NEUTRAL_PROFILE, tokens: 3_000 };
    expect(budgetOf({ ...asked, tokens: 1, envelope: 2, profile, receiver })).toMatchObject({
      tokens: 1,
      from: "call",
    });
    expect(budgetOf({ ...asked, envelope: 2, profile, receiver })).toMatchObject({
      tokens: 2,
      from: "envelope",
    });
    expect(budgetOf({ ...asked, profile, receiver })).toMatchObject({
      tokens: 3_000,
      from: "profile",
    });
    const { tokens, from } = budgetOf({ ...asked, receiver });
    expect([tokens, from]).toEqual([30_000, "window"]);
    expect(budgetOf(asked)).toMatchObject({ tokens: DEFAULT_TOKENS, from: "default" });
  });

  it("never exceeds the window [CTX-2]", () => {
    const small = budgetOf({ ...asked, envelope: 50_000, receiver: { window: 8_000 } });
    expect(small.tokens).toBe(8_000);
  });

  it("keeps the margin free when it is counted by an estimate [CTX-2]", () => {
    expect(usableTokens({ tokens: 1_001, margin: 0.25 })).toBe(750);
  });
});
