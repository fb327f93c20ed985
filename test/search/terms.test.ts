/** Tests the text analysis of search: words, terms, records, questions and scores. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyse, unpackPassages } from "../../src/search/analyse.ts";
import { saturation, weightClass } from "../../src/search/bm25.ts";
import { datesOf, queryOf } from "../../src/search/query.ts";
import { ScoreAccumulator } from "../../src/search/score-accumulator.ts";
import { hashOf, stem, termsOf } from "../../src/search/terms.ts";
import { wordsOf } from "../../src/search/words.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

describe("words", () => {
  it("are lowercase, without accents and punctuation", () => {
    expect(wordsOf("Café-au-lait; naïve ÜBER_test")).toEqual([
      "cafe",
      "au",
      "lait",
      "naive",
      "uber",
      "test",
    ]);
  });

  it("include the parts of an identifier, then the whole", () => {
    expect(wordsOf("validateToken HTTPServer2")).toEqual([
      "validate",
      "token",
      "validatetoken",
      "http",
      "server2",
      "httpserver2",
    ]);
  });

  it("are characters and pairs in scripts without spaces, so parts match", () => {
    expect(wordsOf("東京都")).toEqual(["東", "京", "都", "東京", "京都"]);
    expect(wordsOf("京")).toEqual(["京"]);
    for (const [text, part] of [
      ["我们用GitHub部署服务", "github"],
      ["我们用docker部署服务", "docker"],
      ["黒猫が寝ている", "猫"],
      ["ทีมใช้ฐานข้อมูลเดียว", "ฐานข้อมูล"],
      [`${"很".repeat(80)}回滚方案`, "回滚方案"],
    ] as const) {
      expect(wordsOf(text), text).toEqual(expect.arrayContaining(wordsOf(part)));
    }
  });

  it("are the same for ASCII text next to non-ASCII letters", () => {
    const property = fc.property(fc.string({ unit: "binary-ascii" }), (text) => {
      expect(wordsOf(`${text} é`)).toEqual([...wordsOf(text), "e"]);
    });
    fc.assert(property, { seed: chosenSeed(), numRuns: runs(100) });
  });

  it("are never empty, and splitting them again loses none", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (text) => {
      const words = wordsOf(text);
      expect(words.flatMap((word) => wordsOf(word)).length).toBeGreaterThanOrEqual(words.length);
      for (const word of words) expect(word).not.toBe("");
    });
    fc.assert(property, { seed: chosenSeed(), numRuns: runs(100) });
  });
});

describe("terms", () => {
  it.each([
    ["chose", "choosing", "chosen", "choose"],
    ["went", "going", "goes", "gone"],
    ["children", "child", "kids"],
    ["decided", "deciding", "decides"],
    ["indices", "indexes", "index"],
    ["deployments", "deployment"],
  ])("are the same for all forms of a word: %s", (...forms) => {
    expect(new Set(forms.map(stem)).size).toBe(1);
  });

  it.each([
    ["port", "portal"],
    ["rest", "restaurant"],
    ["v1", "v2"],
  ])("differ for different words: %s, %s", (a, b) => {
    expect(stem(a)).not.toBe(stem(b));
  });

  it("exclude stop words", () => {
    expect(termsOf("Why is it that we did this?")).toEqual([]);
  });
});

describe("an analysed record", () => {
  it("is split into passages that contain every term once, in order", () => {
    const property = fc.property(fc.array(fc.stringMatching(/^[a-z]{3,8}$/)), (words) => {
      const content = words.join(" ");
      const { packed } = analyse({ content, tags: ["tagged"] });
      const { labels, passages } = unpackPassages(packed);
      expect([...labels]).toEqual([hashOf(stem("tagged"))]);
      expect(passages.flatMap((passage) => [...passage])).toEqual(termsOf(content).map(hashOf));
      for (const passage of passages) expect(passage.length).toBeLessThanOrEqual(90);
    });
    fc.assert(property, { seed: chosenSeed(), numRuns: runs(100) });
  });

  it("weighs frequent terms more, and terms of long texts less", () => {
    expect(saturation(2, 20, 25)).toBeGreaterThan(saturation(1, 20, 25));
    expect(saturation(1, 60, 25)).toBeLessThan(saturation(1, 20, 25));
    expect(weightClass(3, 5)).toBeGreaterThan(weightClass(1, 60));
  });

  it("recognizes questions and texts that mention a time", () => {
    expect(analyse({ content: "Which port is it?" })).toMatchObject({ isQuestion: true });
    expect(analyse({ content: "It was yesterday." })).toMatchObject({
      isQuestion: false,
      mentionsTime: true,
    });
  });
});

describe("a question", () => {
  it("is parsed into unique terms, pairs, names and whether it asks when", () => {
    const query = queryOf("When did the planner choose REST, and who chose it?");
    expect(query.terms.map(({ word }) => word)).toEqual(["planner", "choose", "rest"]);
    expect(query.pairs).toEqual([
      [0, 1],
      [1, 2],
      [2, 1],
    ]);
    expect(query.names).toContain("planner");
    expect(query.asksWhen).toBe(true);
    expect(queryOf("Why REST?").asksWhen).toBe(false);
  });

  it.each([
    ["on 7 May 2023", ["y2023", "m5", "d7"]],
    ["2026-03-02", ["y2026", "m3", "d2"]],
    ["in March", ["m3"]],
    ["it may take 2 days", []],
    ["3 retries on port 8080", []],
    ["Sept 3rd", ["m9", "d3"]],
  ])("yields the dates it names: %s", (text, dates) => {
    expect([...queryOf(text).dates].sort()).toEqual([...dates].sort());
  });

  it("uses the same date terms for a timestamp", () => {
    const dates = datesOf(Date.parse("2023-05-07T23:59:00Z"));
    expect(dates).toEqual(["y2023", "m5", "d7"]);
  });

  it("adds similar words with a lower weight, linked to the original", () => {
    const near = (word: string) => (word === "car" ? [{ word: "vehicle", similarity: 0.8 }] : []);
    const { terms } = queryOf("red car", near);
    expect(terms.at(-1)).toMatchObject({ word: "vehicle", weight: 0.8, of: 1 });
  });
});

describe("the score accumulator", () => {
  it("returns the same best positions as adding up and sorting", () => {
    const lists = fc.array(
      fc.tuple(
        fc.uniqueArray(fc.integer({ min: 1, max: 3_000 }), { maxLength: 400 }),
        fc.integer({ min: 1, max: 20 }),
      ),
      { minLength: 1, maxLength: 12 },
    );
    const property = fc.property(lists, fc.integer({ min: 1, max: 40 }), (added, want) => {
      const tally = new ScoreAccumulator(
        added.reduce((sum, [positions]) => sum + positions.length, 0),
      );
      const sums = new Map<number, number>();
      for (const [positions, worth] of added) {
        tally.add(positions, worth);
        for (const pos of positions) sums.set(pos, (sums.get(pos) ?? 0) + worth);
      }
      const expected = [...sums].sort((a, b) => b[1] - a[1] || b[0] - a[0]).slice(0, want);
      expect(tally.best(want, [])).toEqual(expected.map(([pos]) => pos));
    });
    fc.assert(property, { seed: chosenSeed(), numRuns: runs(100) });
  });

  it("prefers a position with good neighbours", () => {
    const tally = new ScoreAccumulator(10);
    tally.add([10, 50], 3);
    tally.add([49], 2);
    expect(tally.best(1, [0.5])).toEqual([50]);
  });
});
