/** Selection of what a view shows: by strategy, and by value if not everything fits. */

import { describe, expect, it } from "vitest";
import { type Item, type SelectionBudget, select } from "../../../src/context/view/select.ts";
import type { DetailLevel } from "../../../src/envelope/schema.ts";
import { SECTIONS, type Section } from "../../../src/profiles/view-parts.ts";

const headings = Object.fromEntries(
  SECTIONS.map((section) => [section, 0]),
) as SelectionBudget["headings"];

/** A long record in four forms: a line, a summary, the gist and the full text. */
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

describe("the strategy", () => {
  it("full shows the most valuable items in full, and shortens nothing [CTX-3]", () => {
    expect(shown(two, 900, "full")).toEqual({ a: "full", b: "full", c: "full" });
    expect(shown(two, 420, "full")).toEqual({ b: "full", c: "full" });
    expect(shown(two, 100, "full")).toEqual({ c: "full" });
  });

  it("summary shows summaries, or references where those do not fit [CTX-3]", () => {
    expect(shown(two, 900, "summary")).toEqual({ a: "summary", b: "summary", c: "full" });
    expect(shown(two, 55, "summary")).toEqual({ a: "reference", b: "summary", c: "full" });
  });

  it("lazy shows references only, even within a large budget [CTX-3]", () => {
    expect(shown(two, 900, "lazy")).toEqual({ a: "reference", b: "reference", c: "reference" });
  });

  it("priority shows the most valuable items in the most detail [CTX-3]", () => {
    expect(shown(two, 900, "priority")).toEqual({ a: "full", b: "full", c: "full" });
    expect(shown(two, 492, "priority")).toEqual({ a: "detail", b: "full", c: "full" });
    expect(shown(two, 20, "priority")).toEqual({ c: "full" });
  });
});

describe("selection", () => {
  it("includes mandatory items first and in full, whatever their value [CTX-3]", () => {
    const items = [record("old", { value: 0.1, must: true, section: "pins" }), record("b")];
    expect(shown(items, 410, "lazy")).toEqual({ old: "full", b: "reference" });
  });

  it("drops the least valuable items first [CTX-3]", () => {
    const items = [0, 1, 2, 3].map((n) => short(`r${n}`, { value: 1 - n / 10 }));
    expect(shown(items, 24, "priority")).toEqual({ r0: "full", r1: "full" });
  });

  it("breaks ties by section, then by id, independent of the input order [CTX-3]", () => {
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

  it("shows at least the level that the sender asks for, if it fits [CTX-3 CTX-6]", () => {
    const wished = [record("a", { atLeast: "detail" }), record("b", { value: 9 })];
    expect(shown(wished, 100, "lazy")).toEqual({ a: "detail", b: "reference" });
    expect(shown(wished, 60, "priority")).toEqual({ a: "summary", b: "summary" });
    expect(shown([record("a", { atLeast: "full" })], 500, "summary")).toEqual({ a: "full" });
  });

  it("shows only the summary of a log, unless the sender asks for all of it [CTX-11]", () => {
    for (const strategy of ["full", "priority", "summary"] as const) {
      expect(shown([record("a", { log: true })], 900, strategy)).toEqual({ a: "summary" });
    }
    const wished = record("a", { log: true, atLeast: "full" });
    expect(shown([wished], 900, "priority")).toEqual({ a: "full" });
  });

  it("excludes items with a value of 0", () => {
    expect(shown([record("a", { value: 0 })], 900, "priority")).toEqual({});
  });

  it("counts the heading of a section once", () => {
    const priced = { ...headings, recent: 5, pins: 0 } as Record<Section, number>;
    const items = [short("a"), short("b")];
    expect(select(items, { tokens: 29, headings: priced }, "priority").size).toBe(2);
    expect([...select(items, { tokens: 28, headings: priced }, "priority").values()]).toEqual([
      expect.objectContaining({ level: "full" }),
      expect.objectContaining({ level: "reference" }),
    ]);
  });
});
