/** Levels of detail, transcript detection and fencing of text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LEVEL_LENGTH, textAtLevel } from "../../../src/context/detail/detail-level.ts";
import { DETAIL_LEVELS } from "../../../src/envelope/schema.ts";
import type { Memory } from "../../../src/memory/record.ts";
import { extract } from "../../../src/text/extract.ts";
import { fenceLine, fenceText, quoteText } from "../../../src/text/fence.ts";
import { isTranscript } from "../../../src/text/transcript.ts";
import { withoutNumbers } from "../../support/fences.ts";
import { chosenSeed } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";

const LONG = [
  "The gateway drops connections under load.",
  "It was a rainy week and many people were away.",
  "The gateway must never retry a payment more than 3 times.",
  "Some of us had lunch.",
  "The retry limit of the gateway is set in src/gateway/retry.ts.",
  "Lunch was good.",
].join(" ");

const memory = (content: string): Memory => ({ content }) as Memory;

describe("rendering at a level of detail", () => {
  it("uses the sender's summary verbatim [CTX-6]", () => {
    const summary = "Retries: 3 at most, see retry.ts. ".repeat(20);
    expect(textAtLevel(memory(LONG), "summary", summary)).toBe(summary);
    expect(textAtLevel(memory(LONG), "full", summary)).toBe(LONG);
  });

  it("extracts the first sentence and those with numbers, names and negations [CTX-6]", () => {
    const shorter = extract(LONG, 175);
    expect(shorter).toMatch(/^The gateway drops connections under load\./);
    expect(shorter).toContain("must never retry a payment more than 3 times");
    expect(shorter).toContain("src/gateway/retry.ts");
    expect(shorter.toLowerCase()).not.toContain("lunch");
    expect(shorter).toMatch(/ …$/);
  });

  it("returns longer text at each level, up to the full text [CTX-6]", () => {
    const content = Array.from({ length: 40 }, (_, n) => `Step ${n}: ${LONG}`).join("\n");
    const lengths = DETAIL_LEVELS.map((level) => textAtLevel(memory(content), level).length);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(new Set(lengths).size).toBe(DETAIL_LEVELS.length);
    expect(textAtLevel(memory(content), "full")).toBe(content);
  });

  it("respects the length limit, keeps words whole and marks omissions [CTX-6]", () => {
    const sentence = fc.array(fc.stringMatching(/^[a-zà-ü0-9_]{1,9}$/u), {
      minLength: 1,
      maxLength: 14,
    });
    const property = fc.property(
      fc.array(sentence, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 20, max: 400 }),
      (sentences, most) => {
        const text = sentences.map((words) => `${words.join(" ")}.`).join(" ");
        const shorter = extract(text, most);
        expect(shorter.length).toBeLessThanOrEqual(most);
        expect(extract(text, most)).toBe(shorter);
        const words = new Set([...text.split(/\s+/), "…"]);
        for (const word of shorter.split(/\s+/)) expect(words).toContain(word);
        expect(shorter.includes("…")).toBe(text.length > most);
      },
    );
    fc.assert(property, { seed: chosenSeed(), numRuns: runs(100) });
  });

  it("does not split characters in text without spaces [CTX-6]", () => {
    const cut = extract("東京都の認証サーバーは三回まで再試行します".repeat(9), 40);
    expect(cut.length).toBeLessThanOrEqual(40);
    expect(cut.isWellFormed()).toBe(true);
    expect(extract("👩".repeat(500), LEVEL_LENGTH.reference).isWellFormed()).toBe(true);
    expect(extract("x".repeat(500), LEVEL_LENGTH.reference)).toHaveLength(LEVEL_LENGTH.reference);
  });
});

describe("transcript detection", () => {
  it.each([
    ["a chat log", "User: fix the login\nAssistant: I will look.\nUser: and?\nAssistant: done."],
    ["a chat in Markdown", "**Human:** hi\n\n**Assistant:** hello\n\n**Human:** go on\n\nplease"],
    ["a chat with tool output", "user: run it\ntool: exit 1\nassistant: it failed\n"],
    [
      "a chat with timestamps",
      "[10:02] user: hi\n[10:03] assistant: hello\n2026-11-15 10:04 user: go",
    ],
    [
      "JSON messages",
      JSON.stringify([
        { role: "user", content: "hi" },
        { role: "assistant", content: "hello" },
        { role: "user", content: "bye" },
      ]),
    ],
    [
      "JSON messages within an object",
      JSON.stringify({ model: "x", messages: Array(4).fill({ role: "user", content: "hi" }) }),
    ],
    [
      "one JSON message per line",
      Array(5)
        .fill(JSON.stringify({ type: "user", message: { content: "hi" } }))
        .join("\n"),
    ],
  ])("recognizes %s as a transcript [CTX-11]", (_, text) => {
    expect(isTranscript(text)).toBe(true);
  });

  it.each([
    ["a finding", "The user table has an index on email; the assistant service reads it."],
    ["a list", "- user: may read\n- admin: may write\n- guest: nothing\n- owner: everything"],
    ["settings", "host: localhost\nuser: postgres\nport: 5432\nsystem: linux\n".repeat(3)],
    ["JSON", JSON.stringify([1, 2, 3, { role: "admin" }])],
    ["roles", "User: can read\nAdmin: can write\nAgent: acts for a user\nSystem: runs jobs"],
    ["a configuration", "user: app\nmodel: gpt-4o\nsystem: prod\nagent: coder"],
    ["a list of results", "- User: could log in\n- Bot: was blocked\n- Human: passed the captcha"],
    ["a single turn", "User: wants to log in with a phone number"],
    [
      "a quotation in a report",
      `${"The login broke.\n".repeat(30)}user: why?\nassistant: no idea\nuser: ok`,
    ],
  ])("does not recognize %s as a transcript [CTX-11]", (_, text) => {
    expect(isTranscript(text)).toBe(false);
  });
});

describe("fencing text", () => {
  it("uses more marks than any run of marks in the text", () => {
    for (const text of ["a »»» b", "««««", "plain", "»"]) {
      const [opening = "", ...rest] = withoutNumbers(fenceText(text)).split("\n");
      const closing = rest.at(-1) ?? "";
      expect(rest.slice(0, -1).join("\n")).toBe(text);
      expect(text).not.toContain(opening);
      expect(text).not.toContain(closing);
    }
  });

  it("keeps single-line text on its line", () => {
    expect(withoutNumbers(quoteText("one line"))).toBe("«one line»");
    expect(withoutNumbers(quoteText("two\nlines"))).toBe("\n««\ntwo\nlines\n»»");
    expect(withoutNumbers(fenceLine("two\n lines »"))).toBe("««two lines » »»");
  });
});
