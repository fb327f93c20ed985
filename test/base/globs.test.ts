/** Overlap of globs, compared with the matcher of Node.js on every path of a small set. */
import { matchesGlob } from "node:path";
import { describe, expect, it } from "vitest";
import { globTextsOverlap, matchesWildcards, parseGlobs } from "../../src/base/globs.ts";
import { BatonError } from "../../src/index.ts";
import { chosenSeed, type Random, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";

/**
 * Each glob of a pool is compared with every other. Matching one against every path is the
 * expensive part (about 20 ms).
 */
const POOL_SIZE = 60;
const POOLS = runs(1);

/** Returns every sequence of one to `most` of these items. */
function listsOf(items: readonly string[], most: number, joint: string): string[] {
  let last: readonly string[] = items;
  const all = [...items];
  for (let length = 2; length <= most; length++) {
    last = last.flatMap((list) => items.map((item) => `${list}${joint}${item}`));
    all.push(...last);
  }
  return all;
}

const listOf = (random: Random, most: number, one: () => string): string[] =>
  Array.from({ length: 1 + random.below(most) }, one);

/** A glob, and the patterns it stands for with its braces expanded. */
type Written = readonly [glob: string, ...patterns: string[]];

interface World {
  readonly name: string;
  /** Large enough to contain a path that two globs share, if there is any. */
  readonly paths: readonly string[];
  readonly glob: (random: Random) => Written;
}

const ATOMS = ["a", "b", "?", "*", "[ab]", "[!a]", "[a-b]", "[^b]"] as const;
const SEGMENTS = [...ATOMS, "**", "**"] as const;

const plain = (glob: string): Written => [glob, glob];

const WORLDS: readonly World[] = [
  {
    name: "one segment of many characters",
    paths: listsOf(["a", "b", "c"], 6, ""),
    glob: (random) => plain(listOf(random, 4, () => random.pick(ATOMS)).join("")),
  },
  {
    name: "many segments of one character",
    paths: listsOf(["a", "b", "c"], 6, "/"),
    glob: (random) => plain(listOf(random, 3, () => random.pick(SEGMENTS)).join("/")),
  },
  {
    name: "segments, characters and braces",
    paths: listsOf(listsOf(["a", "b"], 2, ""), 4, "/"),
    glob: (random) => {
      const atom = () => random.pick(["a", "b", "?", "*", "[ab]"]);
      const segment = () => (random.chance(0.25) ? "**" : listOf(random, 2, atom).join(""));
      const [one, path, other] = [segment(), listOf(random, 2, segment).join("/"), segment()];
      return random.pick<Written>([
        plain(path),
        [`{${one},${path}}`, one, path],
        [`${one}/{${path},${other}}`, `${one}/${path}`, `${one}/${other}`],
        [`{${one},{${path},${other}}/b}`, one, `${path}/b`, `${other}/b`],
      ]);
    },
  },
];

describe("globs", () => {
  it.each(WORLDS)(
    "overlap exactly when a path matches both: $name [CRD-7]",
    { timeout: runs(120_000) },
    ({ paths, glob }) => {
      const seed = chosenSeed();
      const seeded = `BATON_SEED=${seed}`;
      const random = randomFrom(seed);
      const known = new Map<string, ReadonlySet<string>>();
      const matched = (pattern: string): ReadonlySet<string> => {
        const found =
          known.get(pattern) ?? new Set(paths.filter((path) => matchesGlob(path, pattern)));
        known.set(pattern, found);
        return found;
      };
      // One by one: given {**/bb,bb/*} at once, the matcher of Node.js misses bb/a.
      const areShared = ([, ...some]: Written, [, ...others]: Written): boolean =>
        some.some((one) => others.some((other) => !matched(one).isDisjointFrom(matched(other))));
      let shared = 0;
      let apart = 0;
      for (let pool = 0; pool < POOLS; pool++) {
        const globs = Array.from({ length: POOL_SIZE }, () => glob(random));
        for (const [i, a] of globs.entries()) {
          for (const b of globs.slice(0, i)) {
            const isShared = areShared(a, b);
            expect([a[0], b[0], globTextsOverlap(a[0], b[0])], seeded).toEqual([
              a[0],
              b[0],
              isShared,
            ]);
            expect([b[0], a[0], globTextsOverlap(b[0], a[0])], seeded).toEqual([
              b[0],
              a[0],
              isShared,
            ]);
            if (isShared) shared++;
            else apart++;
          }
        }
      }
      expect(shared, `${seeded}: some overlap`).toBeGreaterThan(0);
      expect(apart, `${seeded}: some do not`).toBeGreaterThan(0);
    },
  );

  it.each([
    ["src/**", "src/auth/login.ts", true],
    ["src/**", "src", false],
    ["src/", "src/auth/login.ts", true],
    ["src/", "src", false],
    ["./src/a.ts", "src//a.ts", true],
    ["src/*.ts", "src/auth/login.ts", false],
    ["src/*/index.ts", "src/{auth,user}/*.ts", true],
    ["src/**/*.test.ts", "src/auth/**", true],
    ["src/Auth.ts", "src/auth.ts", false],
    ["src/*", "src/.env", true],
    ["/etc/hosts", "etc/hosts", false],
    ["/etc/*", "/etc/hosts", true],
    ["db:users", "db:*", true],
    ["db:users", "db:orders", false],
    ["port:543[0-9]", "port:5432", true],
    ["GET /users/{id}", "GET /users/*", true],
    ["app/(shop)/page.tsx", "app/**/page.tsx", true],
    ["app/[[]slug]/page.tsx", "app/*/page.tsx", true],
    ["a{,b}c", "ac", true],
    ["a{,b/}c", "a{b/,x}c", true],
    ["a{,b/}c", "axc", false],
    ["ä?", "äö", true],
    ["**", "anything", true],
    ["./", "anything", true],
    ["/", "/etc/hosts", true],
    ["/", "etc/hosts", false],
  ])("%s and %s overlap: %s [CRD-7]", (a, b, expected) => {
    expect([globTextsOverlap(a, b), globTextsOverlap(b, a)]).toEqual([expected, expected]);
  });

  it.each([
    ["src/[ab", "not closed"],
    ["src/{a,b", "unbalanced braces"],
    ["src/a}b", "unbalanced braces"],
    ["src/[]", "empty brackets"],
    ["src/[b-a]", "reversed range"],
    ["src/[[:alpha:]]", "named class"],
    ["src/{1..3}", "a sequence"],
    ["src/@(a|b)", "parentheses"],
    ["src\\a", "backslash"],
    ["../other", 'has a ".." segment'],
    ["src/a/../b", 'has a ".." segment'],
    [".", "matches nothing"],
    ["", "matches nothing"],
    ["a{,b}/{,c}/{", "unbalanced braces"],
    ["{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 200"],
  ])("are refused when invalid: %j, %s [CRD-7]", (glob, why) => {
    const parse = () => parseGlobs(["fine.ts", glob], { path: "touches" });
    expect(parse).toThrow(BatonError);
    expect(parse).toThrow(expect.objectContaining({ code: "invalid_input", path: "touches[1]" }));
    expect(parse).toThrow(why);
  });

  it("are limited in number and length after brace expansion, and compared in bounded time [CRD-7]", () => {
    const many = (globs: readonly string[]) => () => parseGlobs(globs, { path: "globs" });
    expect(many(Array(21).fill("src/{0,1,2,3,4,5,6,7,8,9}"))).toThrow("210 patterns");
    expect(many(Array(9).fill("x".repeat(2_000)))).toThrow(
      "at most 200 patterns and 16000 characters",
    );
    expect(many(Array(20).fill("src/{0,1,2,3,4,5,6,7,8,9}"))()).toHaveLength(20);
    const worst = `${"a*".repeat(999)}a`;
    expect(globTextsOverlap(worst, `${worst}b`)).toBe(false);
    expect(globTextsOverlap(worst, `b${worst}`)).toBe(false);
  });
});

describe("wildcards in a text", () => {
  it.each([
    ["t*", "t", true],
    ["t*", "task", true],
    ["*t", "ab", false],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["a*b*c", "a.b.b.c", true],
    ["*ab*ab*", "aab", false],
    ["**", "", true],
    ["a.c", "abc", false],
    ["a*", "a/b\nc", true],
  ])("%j matches %j: %s [CRD-4]", (pattern, text, matches) => {
    expect(matchesWildcards(pattern, text)).toBe(matches);
  });

  it("match in linear time, however many there are [CRD-4]", () => {
    expect(matchesWildcards(`${"a*".repeat(63)}b`, "a".repeat(128))).toBe(false);
    expect(matchesWildcards(`${"*a".repeat(5_000)}*b`, "a".repeat(20_000))).toBe(false);
  });
});
