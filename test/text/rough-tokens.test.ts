/** A token estimate that loads no tokenizer, compared with the tokenizers it replaces. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seededIds, VirtualClock } from "../../src/testing/index.ts";
import { roughTokenizer } from "../../src/text/rough-tokens.ts";
import { ENCODINGS, exactTokenizer } from "../../src/text/tokens.ts";

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../..", path), "utf8");
const ids = seededIds(1, new VirtualClock());

/** Texts like those that hooks show: prose, code, paths and ids. */
const TEXTS: Readonly<Record<string, string>> = {
  prose: read("docs/COORDINATION.md"),
  code: read("src/delivery/settle/settle.ts"),
  ids: Array.from({ length: 100 }, () => ids.mint("delivery")).join("\n"),
  paths:
    "src/delivery/settle/settle.ts, test/delivery/settle/retries-and-dead-letters.test.ts\n".repeat(
      30,
    ),
  names: "validateTokenAndRefreshSession getUserByIdOrThrow PAYLOAD_TOO_LARGE\n".repeat(30),
  german: "Die Übergabe enthält alles, was der Empfänger wissen muss: Absicht, Regeln. ".repeat(20),
  chinese: "交接包含接收者需要知道的一切：意图、约束、下一步和对记录的引用。".repeat(20),
  russian: "Передача содержит всё, что должен знать получатель: намерение, правила. ".repeat(20),
};

describe("a rough token count", () => {
  it.each(Object.entries(TEXTS))(
    "is not below that of %s by more than the margin of an estimate",
    async (_, text) => {
      for (const encoding of ENCODINGS.slice(0, 2)) {
        const { count } = await exactTokenizer(encoding);
        const { margin } = roughTokenizer;
        expect(roughTokenizer.count(text)).toBeGreaterThanOrEqual(count(text) * (1 - margin));
      }
    },
  );

  it("is less than 35 % too high for prose, code and ids", async () => {
    const { count } = await exactTokenizer("o200k_base");
    for (const name of ["prose", "code", "ids"]) {
      const text = TEXTS[name] ?? "";
      expect(roughTokenizer.count(text) / count(text), name).toBeLessThan(1.35);
    }
  });

  it("is 0 for an empty text and at most 1 for a single character", () => {
    expect(["", " ", "a", "\n"].map(roughTokenizer.count)).toEqual([0, 0, 1, 1]);
  });
});
