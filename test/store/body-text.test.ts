/** The text of handoffs and results that search covers. */
import { describe, expect, it } from "vitest";
import { passageOf } from "../../src/search/passage.ts";
import { BODY_LENGTH, bodyLines, isEnvelopeRedacted } from "../../src/store/body-text.ts";

const linesOf = (envelope: object, content = "") =>
  bodyLines({ content }, JSON.stringify(envelope)).map(({ field, text }) => `${field}: ${text}`);

describe("the body of a record", () => {
  it("has a line for each entry of a field, and none for ids, digests and settings", () => {
    expect(
      linesOf({
        id: "env_1",
        hop: 3,
        constraints: [{ id: "no-fixtures", level: "must", rule: "Leave fixtures" }],
        next: ["one", "two"],
        refs: [{ digest: "a".repeat(64), id: "mem_01890a5d-ac96-774b-bcce-b302099a8057" }],
        policy: { attempts: 3 },
      }),
    ).toEqual(["next: one", "next: two", "constraints: no-fixtures; must; Leave fixtures"]);
  });

  it("includes the key path of each payload value, and omits vectors", () => {
    const data = { refund: { limit: 500, regions: ["eu", "us"] }, vector: Array(20).fill(0.5) };
    expect(linesOf({ payload: { type: "plan", data } })).toEqual([
      "payload: plan",
      "payload: refund limit: 500",
      "payload: refund regions: eu, us",
    ]);
  });

  it("omits an intent that the content already contains", () => {
    expect(linesOf({ intent: "Fix it" }, "ada → ben: Fix it")).toEqual([]);
    expect(linesOf({ intent: "Fix it" }, "answered")).toEqual(["intent: Fix it"]);
  });

  it("limits the length of the fields, and of free-form data", () => {
    const done = Array.from({ length: 200 }, (_, n) => `${n} ${"x".repeat(500)}`);
    const lines = bodyLines(
      { content: "" },
      JSON.stringify({ done, payload: { type: "t", data: { a: "y".repeat(50_000) } } }),
    );
    const length = (wanted: string) =>
      lines.flatMap(({ field, text }) => (field === wanted ? text : [])).join("\n").length;
    expect(length("done")).toBeLessThanOrEqual(BODY_LENGTH);
    expect(length("done")).toBeGreaterThan(BODY_LENGTH - 600);
    expect(length("payload")).toBeLessThanOrEqual(BODY_LENGTH);
  });

  it("is empty for a damaged or redacted envelope", () => {
    expect(bodyLines({ content: "" }, "{")).toEqual([]);
    expect(linesOf({ state: "x", redacted: { by: "ada" } })).toEqual([]);
    expect(isEnvelopeRedacted(JSON.stringify({ id: "env_1", redacted: { by: "ada" } }))).toBe(true);
    const quoting = { id: "env_1", payload: { data: { redacted: { by: "ada" } } } };
    expect(isEnvelopeRedacted(JSON.stringify(quoting))).toBe(false);
  });
});

describe("a passage", () => {
  const lines = [
    { field: "state", text: "All is well. The mirrors are bent; nothing else is." },
    { field: "next", text: "Order a heliograph" },
  ];

  it("consists of the sentences that match the query best, in their original order", () => {
    expect(passageOf(lines, ["mirror"])).toBe("state: The mirrors are bent;");
    expect(passageOf(lines, ["heliograph", "mirror"])).toBe(
      "state: The mirrors are bent; … next: Order a heliograph",
    );
    expect(passageOf(lines, ["walrus"])).toBeUndefined();
  });

  it("is at most 240 characters long, even if a sentence is longer", () => {
    const text = `${"walking ".repeat(100)}mirror ${"around ".repeat(100)}`;
    const passage = passageOf([{ field: "payload", text }], ["mirror"]);
    expect(passage).toContain("mirror");
    expect(passage?.length).toBeLessThanOrEqual(240);
  });
});
