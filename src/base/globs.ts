/**
 * Glob patterns, and whether two of them can match the same file or resource. The answer is exact, not a
 * heuristic: a pattern is a list of segments, a segment is a list of character classes, and two lists either
 * have a path in common or they do not. Pure.
 *
 * Syntax: `*` and `?` within a segment, `**` for any number of segments (at the end: at least one), `[abc]`,
 * `[a-z]`, `[!abc]`, `{a,b}`; a name that ends in `/` matches everything below it. Matching is case-sensitive
 * and includes hidden files. `db:users` or `port:5432` is a name like any other.
 */
import { BatonError, type ErrorCode } from "./errors.ts";
import { FORMAT_LIMITS } from "./limits.ts";

/** Matches any number of characters in a segment, or any number of segments in a pattern. */
const WILDCARD = Symbol("any number");
type Wildcard = typeof WILDCARD;

/** A range of code points, both ends included. */
type Range = readonly [from: number, to: number];
/** The code points that one character can be. */
type CharacterClass = readonly Range[];
/** Plain text if the segment has no wildcards: most segments are compared as text. */
type Segment = string | readonly (CharacterClass | Wildcard)[];
/** One expansion of a glob, without braces. */
type Pattern = readonly (Segment | Wildcard)[];

/** A parsed glob. */
export interface Glob {
  /** The glob as it was written. */
  readonly text: string;
  /** One pattern for each combination of the alternatives in braces. */
  readonly patterns: readonly Pattern[];
}

/** Every character that a name can contain: not NUL, not a slash, not half of a surrogate pair. */
const ANY_CHARACTER: CharacterClass = [
  [0x01, 0x2e],
  [0x30, 0xd7ff],
  [0xe000, 0x10ffff],
];
const ANY_NAME: Segment = [WILDCARD];

/** One token: a class in brackets, or a single character. */
const ATOMS = /\[[!^]?\]?[^\]/]*\]|[\s\S]/gu;

/** Returns true if some path matches both globs. Throws `invalid_input` for an invalid glob. */
export const globTextsOverlap = (a: string, b: string): boolean =>
  globsOverlap(parseGlob(a, { path: "a" }), parseGlob(b, { path: "b" }));

/** Returns true if some path matches both globs. */
export const globsOverlap = (a: Glob, b: Glob): boolean =>
  a.patterns.some((one) =>
    b.patterns.some((other) => sequencesOverlap(one, other, segmentsOverlap)),
  );

/**
 * Returns true if a text matches a pattern in which `*` stands for any text, also with slashes. Each part
 * between two stars is taken where it first occurs: a later place leaves less for the parts after it, so there
 * is nothing to go back for.
 */
export function matchesWildcards(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  const end = text.length - last.length;
  if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= end;
}

/** The field that contains a list of globs, and the error code if one is invalid (default: invalid_input). */
export interface GlobLocation {
  readonly path: string;
  readonly code?: ErrorCode;
}

/**
 * Parses a list of globs. Throws an error that names the invalid glob and the reason. The total size after
 * brace expansion is limited, because the time to compare two lists grows with the product of their lengths.
 */
export function parseGlobs(globs: readonly string[], where: GlobLocation): readonly Glob[] {
  const { path, code = "invalid_input" } = where;
  const parsed = globs.map((text, i) => parseGlob(text, { code, path: `${path}[${i}]` }));
  const patterns = parsed.flatMap((glob) => glob.patterns);
  const characters = patterns.reduce((sum, pattern) => sum + sizeOf(pattern), 0);
  if (patterns.length <= FORMAT_LIMITS.listItems && characters <= FORMAT_LIMITS.textLength) {
    return parsed;
  }
  throw new BatonError(code, {
    message: `${path}: after expanding every {a,b} there are ${patterns.length} patterns with ${characters} characters in total; at most ${FORMAT_LIMITS.listItems} patterns and ${FORMAT_LIMITS.textLength} characters are allowed.`,
    path,
    hint: "Name folders instead of files: src/auth/** matches everything below src/auth.",
  });
}

function parseGlob(text: string, { path, code = "invalid_input" }: GlobLocation): Glob {
  const bad = (why: string, hint: string): BatonError =>
    new BatonError(code, { message: `${path}: "${text}" ${why}.`, path, hint });
  if (text.includes("\\")) {
    throw bad("contains a backslash", "Separate folders with /, and write [*] for a literal star.");
  }
  if (/[@+*?!]\(/.test(text)) {
    throw bad("contains alternatives in parentheses", "Write alternatives in braces: {a,b}.");
  }
  const atoms = text.match(ATOMS) ?? [];
  return { text, patterns: expandBraces(atoms, bad).map((each) => patternOf(each, bad)) };
}

type MakeGlobError = (why: string, hint: string) => BatonError;

const BRACES = "Close each { with a }; write a literal brace as [{] or [}].";

/** Returns every expansion of the braces. Braces without a comma are literal. */
function expandBraces(
  atoms: readonly string[],
  bad: MakeGlobError,
): readonly (readonly string[])[] {
  const open = atoms.indexOf("{");
  const close = open === -1 ? atoms.indexOf("}") : findClosingBrace(atoms, open);
  if (open === -1 && close === -1) return [atoms];
  if (open === -1 || close === -1 || atoms.indexOf("}") < open) {
    throw bad("has unbalanced braces", BRACES);
  }
  const before = atoms.slice(0, open);
  const rest = expandBraces(atoms.slice(close + 1), bad);
  const parts = split(atoms.slice(open + 1, close), ",");
  const [only = []] = parts;
  if (parts.length === 1 && /^[^.]+\.\.[^.]+$/.test(only.join(""))) {
    throw bad("contains a sequence", "List the values: {1,2,3}.");
  }
  const inner =
    parts.length === 1
      ? expandBraces(only, bad).map((each) => ["[{]", ...each, "[}]"])
      : parts.flatMap((part) => expandBraces(part, bad));
  if (inner.length * rest.length > FORMAT_LIMITS.listItems) {
    throw bad(
      `expands to more than ${FORMAT_LIMITS.listItems} patterns`,
      "Use fewer braces, or * for the parts that differ.",
    );
  }
  return inner.flatMap((one) => rest.map((other) => [...before, ...one, ...other]));
}

/** Returns the index of the matching closing brace, or -1. */
function findClosingBrace(atoms: readonly string[], open: number): number {
  let depth = 0;
  for (let i = open; i < atoms.length; i++) {
    if (atoms[i] === "{") depth++;
    else if (atoms[i] === "}" && --depth === 0) return i;
  }
  return -1;
}

/** Splits at separators outside of braces. */
function split(atoms: readonly string[], separator: string): string[][] {
  const parts: string[][] = [[]];
  let depth = 0;
  for (const atom of atoms) {
    if (atom === "{") depth++;
    else if (atom === "}") depth--;
    if (atom === separator && depth === 0) parts.push([]);
    else parts.at(-1)?.push(atom);
  }
  return parts;
}

function patternOf(atoms: readonly string[], bad: MakeGlobError): Pattern {
  const written = split(atoms, "/");
  const isBelow = written.length > 1 && written.at(-1)?.length === 0;
  const segments = written
    .filter((part, i) => (part.length > 0 || (i === 0 && written.length > 1)) && !isDot(part))
    .map((part) => segmentOf(part, bad));
  if (isBelow) segments.push(WILDCARD);
  if (segments.every((segment) => segment === "")) {
    throw bad("matches nothing", "Write ** to match everything.");
  }
  // At the end, `**` matches at least one segment: src/** matches what is in src, not src itself.
  if (segments.at(-1) === WILDCARD) segments.push(ANY_NAME);
  return segments.filter((segment, i) => segment !== WILDCARD || segments[i - 1] !== WILDCARD);
}

const isDot = (part: readonly string[]): boolean => part.length === 1 && part[0] === ".";

function segmentOf(atoms: readonly string[], bad: MakeGlobError): Segment | Wildcard {
  const text = atoms.join("");
  if (text === "..") throw bad('has a ".." segment', "Write paths relative to the project folder.");
  if (text === "**") return WILDCARD;
  const characters = atoms.map((atom) => characterOf(atom, bad));
  if (atoms.every(isPlain)) return text;
  return characters.filter((each, i) => each !== WILDCARD || characters[i - 1] !== WILDCARD);
}

const isPlain = (atom: string): boolean => atom !== "*" && atom !== "?" && !isClass(atom);
const isClass = (atom: string): boolean => atom.startsWith("[") && atom.length > 1;

function characterOf(atom: string, bad: MakeGlobError): CharacterClass | Wildcard {
  if (atom === "*") return WILDCARD;
  if (atom === "?") return ANY_CHARACTER;
  if (atom === "[") throw bad("has a [ that is not closed", "Write a literal bracket as [[].");
  return isClass(atom) ? classOf(atom.slice(1, -1), bad) : single(atom);
}

const single = (character: string): CharacterClass => {
  const code = character.codePointAt(0) ?? 0;
  return [[code, code]];
};

/** Parses the inside of a class: `a-z_`, `!abc`. */
function classOf(inner: string, bad: MakeGlobError): CharacterClass {
  const isNot = /^[!^]/.test(inner);
  const listed = isNot ? inner.slice(1) : inner;
  if (listed.startsWith("[:")) throw bad("contains a named class", "List the characters: [a-z].");
  const ranges = [...listed.matchAll(/([\s\S])-([\s\S])|[\s\S]/gu)].map(
    ([one, from, to]): Range => {
      const [start, end] = [from ?? one, to ?? one];
      return [start.codePointAt(0) ?? 0, end.codePointAt(0) ?? 0];
    },
  );
  if (ranges.length === 0) throw bad("has empty brackets", "Write [abc] or [a-z].");
  if (ranges.some(([from, to]) => from > to)) {
    throw bad("has a reversed range", "Write the smaller character first: [a-z].");
  }
  return isNot
    ? subtractRanges(ANY_CHARACTER, ranges)
    : ranges.flatMap((range) => intersectRange(ANY_CHARACTER, range));
}

const intersectRange = (character: CharacterClass, [from, to]: Range): CharacterClass =>
  character
    .map(([start, end]): Range => [Math.max(start, from), Math.min(end, to)])
    .filter(([start, end]) => start <= end);

const subtractRanges = (character: CharacterClass, taken: CharacterClass): CharacterClass =>
  taken.reduce(
    (left, [from, to]) => [
      ...intersectRange(left, [0, from - 1]),
      ...intersectRange(left, [to + 1, Infinity]),
    ],
    character,
  );

const sizeOf = (pattern: Pattern): number =>
  pattern.reduce((sum, segment) => sum + (segment === WILDCARD ? 1 : segment.length + 1), 0);

function segmentsOverlap(a: Segment, b: Segment): boolean {
  if (typeof a === "string" && typeof b === "string") return a === b;
  return sequencesOverlap(charactersOf(a), charactersOf(b), charactersOverlap);
}

const charactersOf = (segment: Segment): readonly (CharacterClass | Wildcard)[] =>
  typeof segment === "string" ? Array.from(segment, single) : segment;

const charactersOverlap = (a: CharacterClass, b: CharacterClass): boolean =>
  a.some(([from, to]) => b.some(([start, end]) => from <= end && start <= to));

/**
 * Returns true if two lists can match the same sequence. Works from the end backwards: `same[j]` is the
 * answer for the remainders of both lists. Everything a wildcard can consume exists, so only pairs have to be
 * compared.
 */
function sequencesOverlap<T>(
  a: readonly (T | Wildcard)[],
  b: readonly (T | Wildcard)[],
  pair: (one: T, other: T) => boolean,
): boolean {
  const start = commonPrefixLength(a, b, pair);
  if (start === undefined) return false;
  let below: boolean[] = [];
  for (let i = a.length; i >= start; i--) {
    const same: boolean[] = [];
    const one = a[i];
    for (let j = b.length; j >= start; j--) {
      const other = b[j];
      if (i === a.length && j === b.length) same[j] = true;
      else if (one === WILDCARD) same[j] = below[j] === true || same[j + 1] === true;
      else if (other === WILDCARD) same[j] = same[j + 1] === true || below[j] === true;
      else if (one === undefined || other === undefined) same[j] = false;
      else same[j] = below[j + 1] === true && pair(one, other);
    }
    below = same;
  }
  return below[start] === true;
}

/**
 * Returns the length of the common prefix before the first wildcard; undefined if the lists differ there, as
 * most pairs do at once.
 */
function commonPrefixLength<T>(
  a: readonly (T | Wildcard)[],
  b: readonly (T | Wildcard)[],
  pair: (one: T, other: T) => boolean,
): number | undefined {
  for (let i = 0; ; i++) {
    const one = a[i];
    const other = b[i];
    if (one === undefined || other === undefined || one === WILDCARD || other === WILDCARD)
      return i;
    if (!pair(one, other)) return undefined;
  }
}
