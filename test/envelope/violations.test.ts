/** Hints of violations: each names the fix that matches the type of the value. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BatonError } from "../../src/base/errors.ts";
import { DraftSchema } from "../../src/envelope/schema.ts";
import { parseOrThrow, rejection } from "../../src/envelope/violations.ts";

function failureOf(
  schema: z.ZodType,
  value: unknown,
  code: "invalid_input" | "invalid_envelope" = "invalid_input",
): BatonError {
  try {
    parseOrThrow(schema, value, { code, what: "The input" });
  } catch (error) {
    if (error instanceof BatonError) return error;
  }
  throw new Error("the input is valid");
}

const hintOf = (...args: Parameters<typeof failureOf>): string => failureOf(...args).hint;
const draftHint = (fields: object): string =>
  hintOf(DraftSchema, { intent: "Fix the login", ...fields }, "invalid_envelope");

describe("the hint for a value out of bounds", () => {
  it.each([
    [z.number().max(1), 1.5, "Pass a value of at most 1."],
    [z.number().lt(1), 1, "Pass a value less than 1."],
    [z.number().min(2), 1, "Pass a value of at least 2."],
    [z.int().positive(), 0, "Pass a value greater than 0."],
    [z.string().max(3), "four", "Shorten it to at most 3 characters, or split it."],
    [z.string().max(1), "ab", "Shorten it to at most 1 character, or split it."],
    [z.string().min(1), "", "Pass at least 1 character."],
    [z.array(z.int()).max(2), [1, 2, 3], "Pass at most 2 items."],
    [z.array(z.int()).min(1), [], "Pass at least 1 item."],
  ])("names the bound and its unit (%#)", (schema, value, hint) => {
    expect(hintOf(schema, value)).toBe(hint);
  });

  it("names the expected type", () => {
    expect(hintOf(z.int(), 1.5)).toBe("Pass an integer.");
    expect(hintOf(z.record(z.string(), z.unknown()), [])).toBe("Pass an object.");
  });
});

describe("the hint for an unknown field", () => {
  it("suggests the nearest field of an envelope, at any depth", () => {
    expect(draftHint({ intnet: "x" })).toBe('Did you mean "intent"?');
    expect(draftHint({ constraint: [] })).toBe('Did you mean "constraints"?');
    expect(draftHint({ constraints: [{ rule: "x", levle: "must" }] })).toBe(
      'Did you mean "level"?',
    );
    expect(draftHint({ budget: { tokens: 5, token: 5 } })).toBe('Did you mean "tokens"?');
  });

  it("names payload.data and metadata if no field of the envelope is near", () => {
    const hint = "Remove it, or put your own data into payload.data or metadata.";
    expect(draftHint({ colour: "red" })).toBe(hint);
    expect(draftHint({ id: "env_1" })).toBe(hint);
  });

  it("lists the fields of a part of the envelope if none is near", () => {
    expect(draftHint({ policy: { colour: "red" } })).toMatch(/^Known fields: .*attempts/);
  });

  it("suggests the nearest field of other inputs, or lists the fields", () => {
    const schema = z.strictObject({ limit: z.int().optional(), states: z.strictObject({}) });
    expect(hintOf(schema, { states: {}, limt: 3 })).toBe('Did you mean "limit"?');
    expect(hintOf(schema, { states: {}, colour: 3 })).toBe("Known fields: limit, states.");
    expect(hintOf(schema, { states: { colour: 3 } })).toBe("Check the spelling, or remove it.");
  });
});

describe("the message for rejected input", () => {
  it.each([
    [z.number().max(1), 2, "must be at most 1, got 2"],
    [z.int().positive(), 0, "must be greater than 0, got 0"],
    [z.string().min(1), "", "is empty"],
    [z.string().max(3), "four", "has more than 3 characters"],
    [z.array(z.int()).min(2), [], "has fewer than 2 items"],
    [z.enum(["a", "b"]), "c", 'must be one of a, b, got "c"'],
    [z.literal(true), "yes", 'must be true, got "yes"'],
    [z.record(z.string(), z.unknown()), [], "must be an object, got an array"],
    [z.string(), null, "must be a string, got null"],
    [z.string().regex(/^m/, "must be an id (mem_…)"), "x", 'must be an id (mem_…), got "x"'],
    [z.string().regex(/^m/, "must be an id (mem_…)"), "x".repeat(25), "must be an id (mem_…)"],
  ])("names the rule, and the value if it is short (%#)", (schema, value, message) => {
    expect(failureOf(schema, value).message).toBe(`The input failed validation: ${message}.`);
    expect(failureOf(z.object({ a: schema }), { a: value }).violations[0]?.message).toBe(
      `a: ${message}`,
    );
  });

  it("ends with one full stop", () => {
    const nul = failureOf(DraftSchema, { intent: "", state: "\0" }, "invalid_envelope");
    expect(nul.message).toMatch(/[^.]\.$/);
    expect(nul.message).not.toContain(".;");
    const violation = { path: "a", rule: "custom", hint: "Fix it.", message: "a: is wrong." };
    expect(rejection("invalid_input", "The input", [violation]).message).toBe(
      "The input failed validation: a: is wrong.",
    );
  });
});
