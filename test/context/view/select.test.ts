/** Choosing: what each strategy shows, and which goes first when there is little room. */

import { describe, expect, it } from "vitest";
import { type Item, type SelectionBudget, select } from "../../../src/context/view/select.ts";
import type { DetailLevel } from "../../../src/envelope/schema.ts";
import { SECTIONS, type Section } from "../../../src/profiles/view-parts.ts";

const headings = Object.fromEntries(
  SECTIONS.map((section) => [section, 0]),
) as SelectionBudget["headings"];

/** A long record: a line, a summary, the gist and the whole of it. */
const record = (id: string, more: Partial<Item> = {}): Item => ({
  id,
  section: "recent",
  value: 1,
  must: false,
  forms: [
    { level: "reference", tokens: 10, fits: "reference" },
    { level: "summary", tokens: 30, fits: "summary" },
    { level: "detail", tokens: 80, fits: "detail" },
    { level: "full", tokens: 400, fits: "full" },
  ],
  ...more,
});

const short = (id: string, more: Partial<Item> = {}): Item =>
  record(id, {
    forms: [
      { level: "reference", tokens: 10, fits: "reference" },
      { level: "full", tokens: 12, fits: "summary" },
    ],
    ...more,
  });

type Shown = Record<string, DetailLevel>;

function shown(items: readonly Item[], tokens: number, strategy: Parameters<typeof select>[2]) {
  const chosen = select(items, { tokens, headings }, strategy);
  return Object.fromEntries([...chosen].map(([id, { level }]) => [id, level])) as Shown;
}

const two = [record("a"), record("b", { value: 2 }), short("c")];

describe("a strategy", () => {
  it("full: bodies in full, the most valuable first, nothing shortened [CTX-3]", () => {
    expect(shown(two, 900, "full")).toEqual({ a: "full", b: "full", c: "full" });
    expect(shown(two, 420, "full")).toEqual({ b: "full", c: "full" });
    expect(shown(two, 100, "full")).toEqual({ c: "full" });
  });

  it("summary: summaries, and references where there is no room for them [CTX-3]", () => {
    expect(shown(two, 900, "summary")).toEqual({ a: "summary", b: "summary", c: "full" });
    expect(shown(two, 55, "summary")).toEqual({ a: "reference", b: "summary", c: "full" });
  });

  it("lazy: references only, whatever room there is [CTX-3]", () => {
    expect(shown(two, 900, "lazy")).toEqual({ a: "reference", b: "reference", c: "reference" });
  });

  it("priority: as much of each as it is worth [CTX-3]", () => {
    expect(shown(two, 900, "priority")).toEqual({ a: "full", b: "full", c: "full" });
    expect(shown(two, 492, "priority")).toEqual({ a: "detail", b: "full", c: "full" });
    expect(shown(two, 20, "priority")).toEqual({ c: "full" });
  });
});

describe("choosing", () => {
  it("puts what must travel first, in full, whatever it is worth [CTX-3]", () => {
    const items = [record("old", { value: 0.1, must: true, section: "pins" }), record("b")];
    expect(shown(items, 410, "lazy")).toEqual({ old: "full", b: "reference" });
  });

  it("drops the old and less relevant first [CTX-3]", () => {
    const items = [0, 1, 2, 3].map((n) => short(`r${n}`, { value: 1 - n / 10 }));
    expect(shown(items, 24, "priority")).toEqual({ r0: "full", r1: "full" });
  });

  it("gives ties to the earlier section, then the smaller id, in whatever order they come [CTX-3]", () => {
    const items = [
      short("z", { section: "references" }),
      short("b"),
      short("a"),
      short("y", { section: "recalled" }),
    ];
    const chosen = { z: "full", a: "full" };
    expect(shown(items, 24, "priority")).toEqual(chosen);
    expect(shown(items.toReversed(), 24, "priority")).toEqual(chosen);
  });

  it("shows at least what the sender wants seen, where that fits [CTX-3 CTX-6]", () => {
    const wished = [record("a", { atLeast: "detail" }), record("b", { value: 9 })];
    expect(shown(wished, 100, "lazy")).toEqual({ a: "detail", b: "reference" });
    expect(shown(wished, 60, "priority")).toEqual({ a: "summary", b: "summary" });
    expect(shown([record("a", { atLeast: "full" })], 500, "summary")).toEqual({ a: "full" });
  });

  it("shows no more than the gist of a log, unless the sender wants all of it [CTX-11]", () => {
    for (const strategy of ["full", "priority", "summary"] as const) {
      expect(shown([record("a", { log: true })], 900, strategy)).toEqual({ a: "summary" });
    }
    const wished = record("a", { log: true, atLeast: "full" });
    expect(shown([wished], 900, "priority")).toEqual({ a: "full" });
  });

  it("leaves out what a profile gives no weight", () => {
    expect(shown([record("a", { value: 0 })], 900, "priority")).toEqual({});
  });

  it("pays for a heading once for each section", () => {
    const priced = { ...headings, recent: 5, pins: 0 } as Record<Section, number>;
    const items = [short("a"), short("b")];
    expect(select(items, { tokens: 29, headings: priced }, "priority").size).toBe(2);
    expect([...select(items, { tokens: 28, headings: priced }, "priority").values()]).toEqual([
      expect.objectContaining({ level: "full" }),
      expect.objectContaining({ level: "reference" }),
    ]);
  });
});
