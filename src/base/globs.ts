/**
 * Globs, and whether two of them can mean the same file or resource. Exact: a pattern is a list of
 * segments, a segment a list of what each character may be, and two lists have a path in common or have
 * none; nothing is guessed from how they look. Pure.
 *
 * `*` and `?` within a segment, `**` for any number of segments (at the end: at least one), `[abc]`,
 * `[a-z]`, `[!abc]`, `{a,b}`; a name that ends in `/` is all that lies below it. Case matters, hidden
 * files are files, and `db:users` or `port:5432` is a name like any other.
 */
import { BatonError, type ErrorCode } from "./errors.ts";
import { FORMAT_LIMITS } from "./limits.ts";

/** Any number of what it stands among: characters of a segment, or segments. */
const WILDCARD = Symbol("any number");
type Wildcard = typeof WILDCARD;

/** Code points from one to another, both included. */
type Range = readonly [from: number, to: number];
/** What one character may be. */
type CharacterClass = readonly Range[];
/** As it is written, where nothing is left open: most segments are compared as texts. */
type Segment = string | readonly (CharacterClass | Wildcard)[];
/** One way to read a glob, its braces written out. */
type Pattern = readonly (Segment | Wildcard)[];

export interface Glob {
  /** As it was written. */
  readonly text: string;
  readonly patterns: readonly Pattern[];
}

/** Every character a name can have: no NUL, no slash, no half of a pair. */
const ANY_CHARACTER: CharacterClass = [
  [0x01, 0x2e],
  [0x30, 0xd7ff],
  [0xe000, 0x10ffff],
];
const ANY_NAME: Segment = [WILDCARD];

/** One atom: a class in brackets, or a single character. */
const ATOMS = /\[[!^]?\]?[^\]/]*\]|[\s\S]/gu;

/** Whether there is a path that both match. */
export const globTextsOverlap = (a: string, b: string): boolean =>
  globsOverlap(parseGlob(a, { path: "a" }), parseGlob(b, { path: "b" }));

export const globsOverlap = (a: Glob, b: Glob): boolean =>
  a.patterns.some((one) =>
    b.patterns.some((other) => sequencesOverlap(one, other, segmentsOverlap)),
  );

/** Where a list of globs stands, and what it is called when it is refused. */
export interface GlobLocation {
  readonly path: string;
  readonly code?: ErrorCode;
}

/**
 * All of a list, or an error that says which and why. Bounded as a whole, braces written out: so is the
 * time it takes to hold one list against another, which grows with the product of their lengths.
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
    message: `${path}: with every {a,b} written out there are ${patterns.length} patterns of ${characters} characters, and at most ${FORMAT_LIMITS.listItems} of ${FORMAT_LIMITS.textLength} are allowed.`,
    path,
    hint: "Name folders instead of files: src/auth/** is all that lies below src/auth.",
  });
}

function parseGlob(text: string, { path, code = "invalid_input" }: GlobLocation): Glob {
  const bad = (why: string, hint: string): BatonError =>
    new BatonError(code, { message: `${path}: "${text}" ${why}.`, path, hint });
  if (text.includes("\\")) {
    throw bad(
      "has a backslash",
      "Separate folders with /, and write [*] for a star that is meant.",
    );
  }
  if (/[@+*?!]\(/.test(text)) {
    throw bad("has alternatives in parentheses", "Write them in braces: {a,b}.");
  }
  const atoms = text.match(ATOMS) ?? [];
  return { text, patterns: expandBraces(atoms, bad).map((each) => patternOf(each, bad)) };
}

type MakeGlobError = (why: string, hint: string) => BatonError;

const BRACES = "Close each { with a }; a brace that is meant is written [{] or [}].";

/** Every way to read the braces. Of one that has no comma, both signs are meant as they are. */
function expandBraces(
  atoms: readonly string[],
  bad: MakeGlobError,
): readonly (readonly string[])[] {
  const open = atoms.indexOf("{");
  const close = open === -1 ? atoms.indexOf("}") : findClosingBrace(atoms, open);
  if (open === -1 && close === -1) return [atoms];
  if (open === -1 || close === -1 || atoms.indexOf("}") < open) {
    throw bad("has braces that do not match", BRACES);
  }
  const before = atoms.slice(0, open);
  const rest = expandBraces(atoms.slice(close + 1), bad);
  const parts = split(atoms.slice(open + 1, close), ",");
  const [only = []] = parts;
  if (parts.length === 1 && /^[^.]+\.\.[^.]+$/.test(only.join(""))) {
    throw bad("has a sequence", "Write it out: {1,2,3}.");
  }
  const inner =
    parts.length === 1
      ? expandBraces(only, bad).map((each) => ["[{]", ...each, "[}]"])
      : parts.flatMap((part) => expandBraces(part, bad));
  if (inner.length * rest.length > FORMAT_LIMITS.listItems) {
    throw bad(
      `stands for more than ${FORMAT_LIMITS.listItems} patterns`,
      "Use fewer braces, or * for what differs.",
    );
  }
  return inner.flatMap((one) => rest.map((other) => [...before, ...one, ...other]));
}

/** Where the brace that opens there is closed; -1: nowhere. */
function findClosingBrace(atoms: readonly string[], open: number): number {
  let depth = 0;
  for (let i = open; i < atoms.length; i++) {
    if (atoms[i] === "{") depth++;
    else if (atoms[i] === "}" && --depth === 0) return i;
  }
  return -1;
}

/** What lies between the separators, but for those within braces. */
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
    throw bad("names nothing", "Write ** for everything.");
  }
  // At the end it stands for one segment at least: src/** is what lies in src, not src.
  if (segments.at(-1) === WILDCARD) segments.push(ANY_NAME);
  return segments.filter((segment, i) => segment !== WILDCARD || segments[i - 1] !== WILDCARD);
}

const isDot = (part: readonly string[]): boolean => part.length === 1 && part[0] === ".";

function segmentOf(atoms: readonly string[], bad: MakeGlobError): Segment | Wildcard {
  const text = atoms.join("");
  if (text === "..") throw bad("leads out by ..", "Name what is meant from the project's folder.");
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
  if (atom === "[")
    throw bad("has a [ that is not closed", "A bracket that is meant is written [[].");
  return isClass(atom) ? classOf(atom.slice(1, -1), bad) : single(atom);
}

const single = (character: string): CharacterClass => {
  const code = character.codePointAt(0) ?? 0;
  return [[code, code]];
};

/** `a-z_`, `!abc` */
function classOf(inner: string, bad: MakeGlobError): CharacterClass {
  const isNot = /^[!^]/.test(inner);
  const listed = isNot ? inner.slice(1) : inner;
  if (listed.startsWith("[:")) throw bad("has a named class", "Write the characters: [a-z].");
  const ranges = [...listed.matchAll(/([\s\S])-([\s\S])|[\s\S]/gu)].map(
    ([one, from, to]): Range => {
      const [start, end] = [from ?? one, to ?? one];
      return [start.codePointAt(0) ?? 0, end.codePointAt(0) ?? 0];
    },
  );
  if (ranges.length === 0) throw bad("has brackets with nothing in them", "Write [abc] or [a-z].");
  if (ranges.some(([from, to]) => from > to)) {
    throw bad("has a range that goes backwards", "Write the smaller character first: [a-z].");
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
 * Whether two lists can be the same: `same[j]` is the answer for what is left of both, from the end
 * backwards. Whatever MANY takes in can be something, so only pairs have to be looked at.
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

/** How far both go on without MANY; undefined when they differ there. Most pairs do at once. */
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
