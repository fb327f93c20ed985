/** Names that look alike, and names that only resemble each other. */
import { describe, expect, it } from "vitest";
import { looksLike } from "../../src/base/look-alikes.ts";

describe("two names look alike", () => {
  it.each([
    ["ada", "аda", "Cyrillic a"],
    ["ada", "аԁа", "Cyrillic letters only"],
    ["ada", "αda", "Greek alpha"],
    ["Bob", "ΒΟΒ", "Greek capitals"],
    ["Bob", "Воb", "Cyrillic capital Ve"],
    ["copa", "сора", "a Cyrillic word"],
    ["ana", "Ana", "case"],
    ["ИВАН", "иван", "case in Cyrillic"],
    ["Νίκος", "νίκος", "case in Greek"],
    ["ΝΊΚΟΣ", "νίκος", "final sigma"],
    ["strasse", "straße", "sharp s"],
    ["ida", "İda", "Turkish capital I"],
    ["ida", "ıda", "dotless i"],
    ["ada", "ａｄａ", "full width"],
    ["file", "ﬁle", "a ligature"],
    ["ada", "ada\u3164", "a letter without ink"],
    ["bot0", "boto", "0 and o"],
    ["agent-1", "agent-l", "1 and l"],
    ["Paul", "PauI", "capital I and l"],
    ["Paul", "PauІ", "Cyrillic capital I and l"],
  ])("%s and %s: %s", (one, other) => {
    expect(one === other).toBe(false);
    expect(looksLike(one, other)).toBe(true);
    expect(looksLike(other, one)).toBe(true);
  });

  it.each([
    ["coder1", "coder2"],
    ["ada", "adam"],
    ["ali", "all"],
    ["jose", "josé"],
    ["modem", "modern"],
    ["team-a", "team_a"],
    ["маша", "masha"],
    ["иван", "ivan"],
    ["a1", "a10"],
    ["東京", "京都"],
  ])("not %s and %s", (one, other) => {
    expect(looksLike(one, other)).toBe(false);
  });
});
