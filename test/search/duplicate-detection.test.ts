/** Tests duplicate detection: precision and recall on held-out pairs, and each rule by example. */
import { describe, expect, it } from "vitest";
import type { WordSimilarity } from "../../src/search/compare-statements.ts";
import { judge, type Verdict } from "../../src/search/duplicate-detection.ts";
import { bundledWordVectors } from "../../src/search/embedding/word-vectors.ts";
import {
  type Answer,
  figuresOf,
  forTuning,
  heldOut,
  type Pair,
  pairs,
  table,
} from "./known-pairs.ts";

const nearness: WordSimilarity = (a, b) => {
  const [x, y] = [a, b].map((word) => bundledWordVectors().vectorOf(word)) as [
    Float32Array,
    Float32Array,
  ];
  return x.reduce((sum, value, d) => sum + value * (y[d] as number), 0);
};

const answers = (some: readonly Pair[]): Answer[] =>
  some.map(({ verdict, known, said }) => [verdict, judge(known, said, nearness).verdict]);

describe("duplicate detection", () => {
  it("reaches the minimum precision and recall on held-out pairs [MEM-9]", () => {
    const found = answers(heldOut());
    console.log(table("held out", found));
    console.log(table("tuned on", answers(forTuning())));
    expect(found.length).toBeGreaterThanOrEqual(180);
    const same = figuresOf(found, "same");
    const contradicts = figuresOf(found, "contradicts");
    expect(same.precision).toBeGreaterThanOrEqual(0.92);
    expect(same.recall).toBeGreaterThanOrEqual(0.85);
    expect(contradicts.precision).toBeGreaterThanOrEqual(0.93);
    expect(contradicts.recall).toBeGreaterThanOrEqual(0.85);
  });

  it("reports fewer than 0.1 % of the pairs of unrelated notes [MEM-9]", () => {
    // Notes of different pairs; a few of them do state the same or contradict each other.
    const notes = pairs().map(({ said }) => said);
    let alarms = 0;
    let comparisons = 0;
    for (const [i, known] of notes.entries()) {
      for (const said of notes.slice(i + 1)) {
        comparisons++;
        if (judge(known, said).verdict !== "other") alarms++;
      }
    }
    console.log(`${alarms} of ${comparisons} pairs of unrelated notes`);
    expect(alarms / comparisons).toBeLessThan(0.001);
  });

  it.each<[Verdict, string, string]>([
    // A number matches only the same number, also when it is spelled out.
    ["same", "The pool has 20 connections.", "The pool has twenty connections."],
    ["contradicts", "The pool has 20 connections.", "The pool has 2 connections."],
    ["contradicts", "Standup is at 9:30.", "Standup is at 10:30."],
    // Two negations cancel out; one does not.
    ["same", "Do not deploy without a review.", "A deploy needs a review."],
    ["contradicts", "Deploy without a review.", "Never deploy without a review."],
    // A negated word equals its opposite.
    ["same", "The flag is not enabled on staging.", "On staging the flag is disabled."],
    ["contradicts", "The flag is enabled on staging.", "On staging the flag is disabled."],
    // The order matters in a comparison.
    ["contradicts", "Run the linter before the tests.", "Run the tests before the linter."],
    ["same", "Run the linter before the tests.", "Run the tests after the linter."],
    // Different subjects.
    ["other", "worker-7 runs on host a12.", "worker-9 runs on host a12."],
    ["other", "Cleanup is disabled for drafts.", "Cleanup is enabled for invoices."],
    // Only one value is possible.
    ["contradicts", "Rita is the release manager.", "Sven is the release manager."],
    // Several values are possible.
    ["other", "The client supports gzip.", "The client supports brotli."],
    // Answers to different questions do not conflict: where and when; for whom.
    ["other", "The flight lands at terminal 2.", "The flight lands on Saturday 18:40."],
    ["other", "Exports are signed for auditors.", "Exports are signed for customers."],
    // Mostly different content about the same subject.
    [
      "other",
      "The nightly import job of tenant seven is written in Ruby.",
      "The nightly import job of tenant seven is watched by three people of support.",
    ],
    // Two words in common can be a coincidence.
    ["other", "Node 24 made startup faster.", "You need Node 24."],
    // Polite phrases state nothing.
    [
      "other",
      "It works now. Thanks a lot for your kind help, Rita!",
      "Merged. Thanks a lot for your kind help, Sven!",
    ],
    // A note that adds something is new; a note that repeats a part is not.
    ["other", "Logs go to Loki.", "Logs go to Loki and are kept there for 14 days."],
    ["same", "Logs go to Loki and are kept for 14 days there.", "Logs are kept for 14 days."],
    ["other", "", "Logs go to Loki."],
    ["other", "…", "!"],
  ])("returns %s for: %s / %s [MEM-9]", (verdict, known, said) => {
    expect(judge(known, said, nearness)).toMatchObject({ verdict });
  });

  it("finds the one sentence of a note that contradicts another [MEM-9]", () => {
    const note =
      "The cluster was rebuilt in May. Nightly backups start at 02:00 from db-2. Ask Rita for access.";
    expect(judge(note, "Nightly backups start at 04:00 from db-2.")).toMatchObject({
      verdict: "contradicts",
      why: '"02:00" before, "04:00" now',
    });
    expect(judge(note, "Nightly backups are checked by restoring them.").verdict).toBe("other");
  });

  it("compares notes of the maximum length [MEM-9]", () => {
    const long = (word: string) =>
      Array.from({ length: 4_000 }, (_, n) => `${word}${n} waits.`)
        .join(" ")
        .slice(0, 64_000);
    expect(judge(long("left"), long("left")).verdict).toBe("same");
    expect(judge(long("left"), long("right")).verdict).toBe("other");
  });
});
