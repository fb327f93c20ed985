/**
 * Canonical JSON (RFC 8785): equal values give the same text, and values that two readers could
 * interpret differently are refused.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, sha256 } from "../../src/base/digest.ts";
import { BatonError } from "../../src/index.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

const canonical = (value: unknown): string => canonicalJson(value, "invalid_input");

describe("canonical JSON", () => {
  it("sorts keys by UTF-16 code units, numeric keys included", () => {
    expect(canonical({ b: 1, a: 2, "10": 3, "9": 4, "": 5, B: 6 })).toBe(
      '{"":5,"10":3,"9":4,"B":6,"a":2,"b":1}',
    );
  });

  it("sorts the example of RFC 8785, section 3.2.3", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    expect(Object.values(JSON.parse(canonical(value)) as object)).toEqual([
      // JSON.parse puts integer-like keys first; the others keep the order of the text.
      "One",
      "Carriage Return",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
    expect(canonical(value).startsWith('{"\\r":"Carriage Return","1":"One",')).toBe(true);
  });

  it("writes the example of RFC 8785", () => {
    const value = {
      numbers: [Number("333333333.33333329"), 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonical(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts nested objects and keeps arrays in order", () => {
    expect(canonical([{ b: [{ z: 1, y: 2 }], a: 0 }, 2, 1])).toBe(
      '[{"a":0,"b":[{"y":2,"z":1}]},2,1]',
    );
  });

  it.each([
    [0, "0"],
    [-0, "0"],
    [1, "1"],
    [-1.5, "-1.5"],
    [1e-7, "1e-7"],
    [0.000001, "0.000001"],
    [5e-324, "5e-324"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [0.1 + 0.2, "0.30000000000000004"],
  ])("writes the number %d as %s", (value, text) => {
    expect(canonical(value)).toBe(text);
    expect(canonical({ z: 0, a: value })).toBe(`{"a":${text},"z":0}`);
  });

  it.each([
    ["\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'],
    ["\u0001\u001f", '"\\u0001\\u001f"'],
    ["\u007f\u2028\u2029", '"\u007f\u2028\u2029"'],
    ['"\\/', '"\\"\\\\/"'],
    ["\\u0041", '"\\\\u0041"'],
    ["Grüße 你好 🎉", '"Grüße 你好 🎉"'],
  ])("escapes %j as RFC 8785 does", (value, text) => {
    expect(canonical(value)).toBe(text);
    expect(canonical({ z: value, a: value })).toBe(`{"a":${text},"z":${text}}`);
  });

  it("omits keys without a value, and accepts objects without a prototype", () => {
    const bare = Object.assign(Object.create(null), { b: 1, a: undefined }) as object;
    expect(canonical({ z: undefined, a: bare })).toBe('{"a":{"b":1}}');
  });

  it("accepts an object that occurs twice", () => {
    const shared = { x: 1 };
    expect(canonical([shared, shared])).toBe('[{"x":1},{"x":1}]');
  });

  it("gives the same value and the same text after parsing", () => {
    const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }).filter(isCarried);
    fc.assert(
      fc.property(json, (value) => {
        const text = canonical(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonical(JSON.parse(text))).toBe(text);
      }),
      { seed: chosenSeed(), numRuns: runs(500) },
    );
  });

  it("does not depend on the order of keys", () => {
    const json = fc.jsonValue({ maxDepth: 5 }).filter(isCarried);
    fc.assert(
      fc.property(json, fc.infiniteStream(fc.nat()), (value, numbers) => {
        const shuffled = shuffledKeys(value, () => numbers.next().value ?? 0);
        expect(canonical(shuffled)).toBe(canonical(value));
        expect(sha256(canonical(shuffled))).toBe(sha256(canonical(value)));
      }),
      { seed: chosenSeed(), numRuns: runs(500) },
    );
  });
});

describe("values without a canonical form", () => {
  const circular: Record<string, unknown> = { name: "loop" };
  circular["self"] = { inner: [circular] };

  // Each value between sorted and between unsorted keys, which are written in different ways.
  const wrappings = [
    (value: unknown) => ({ data: { list: ["ok", value] } }),
    (value: unknown) => ({ zeta: 1, data: { list: ["ok", value] }, alpha: 2 }),
  ];

  it.each([
    ["undefined in an array", undefined, "json"],
    ["a function", () => 1, "json"],
    ["a symbol", Symbol("s"), "json"],
    ["a BigInt", 10n, "json"],
    ["NaN", Number.NaN, "finite"],
    ["Infinity", Number.POSITIVE_INFINITY, "finite"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "finite"],
    ["an integer beyond 2^53", 2 ** 53, "safe_integer"],
    ["a large integral float", 1e300, "safe_integer"],
    ["a Date", new Date(0), "json"],
    ["a Map", new Map([["a", 1]]), "json"],
    ["a Set", new Set([1]), "json"],
    ["a RegExp", /x/, "json"],
    ["an Error", new Error("x"), "json"],
    ["a typed array", new Uint8Array(2), "json"],
    ["a boxed string", Object("x") as unknown, "json"],
    ["an object of a class", new (class Own {})(), "json"],
    ["NUL", "a\0b", "no_nul"],
    ["a lone high surrogate", "a\ud800", "well_formed"],
    ["a lone low surrogate", "\udc00a", "well_formed"],
  ])("are refused with their path: %s", (_, value, rule) => {
    for (const wrap of wrappings) expectFault(wrap(value), { rule, path: "data.list[1]" });
  });

  it("are refused with NUL or lone surrogates in keys", () => {
    expectFault({ data: { "a\0": 1 } }, { rule: "no_nul", path: "data.a\0" });
    expectFault({ data: { "\ud800": 1 } }, { rule: "well_formed", path: "data.\ud800" });
  });

  it("are refused with a key named __proto__", () => {
    const value = JSON.parse('{"data":{"__proto__":{"admin":true}}}') as unknown;
    expectFault(value, { rule: "reserved_key", path: "data.__proto__" });
  });

  it("are refused when they contain themselves", () => {
    expectFault(circular, { rule: "circular", path: "self.inner[0]" });
    const list: unknown[] = [];
    list.push(list);
    expectFault({ list }, { rule: "circular", path: "list[0]" });
  });

  it("are refused with more than 32 levels, but not with 32", () => {
    const nested = (levels: number): unknown => (levels === 0 ? "x" : [nested(levels - 1)]);
    expect(canonical(nested(32))).toBe(`${"[".repeat(32)}"x"${"]".repeat(32)}`);
    expectFault(nested(33), { rule: "json_depth", path: "[0]".repeat(32) });
    expectFault(nested(5_000), { rule: "json_depth", path: "[0]".repeat(32) });
  });

  it("are refused with holes in a list, which other readers would see as null", () => {
    const holes = ["ok", "", "end"];
    delete holes[1];
    expectFault({ holes }, { rule: "json", path: "holes[1]" });
    expectFault({ z: 1, holes, a: 1 }, { rule: "json", path: "holes[1]" });
  });
});

function expectFault(value: unknown, fault: { rule: string; path: string }): void {
  let thrown: unknown;
  try {
    thrown = `not refused: ${canonical(value)}`;
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(BatonError);
  const error = thrown as BatonError;
  expect(error).toMatchObject({ code: "invalid_input", path: fault.path });
  expect(error.hint).not.toBe("");
  expect(error.violations).toEqual([expect.objectContaining(fault)]);
}

/**
 * Returns whether the value has a canonical form: no NUL, lone surrogates, large integers or
 * __proto__.
 */
function isCarried(value: unknown): boolean {
  try {
    canonical(value);
    return true;
  } catch {
    return false;
  }
}

function shuffledKeys(value: unknown, number: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffledKeys(item, number));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(
    ([key, item]) => [number(), key, shuffledKeys(item, number)] as const,
  );
  entries.sort(([a], [b]) => a - b);
  return Object.fromEntries(entries.map(([, key, item]) => [key, item]));
}
