/**
 * Inputs that try to make one call expensive, in any size: repeated beginnings of what is searched for, without
 * an end; and random mixtures of such parts. Each is a part to repeat, so that size is the only difference.
 */
import { PREFIXED_FORMATS } from "../../../src/envelope/secret-formats.ts";
import { type Random, randomFrom } from "../../support/random.ts";

/** Beginnings, separators and fillings of what the patterns look for. */
const PARTS: readonly [string, ...string[]] = [
  "-----BEGIN PRIVATE KEY-----\n",
  "-----BEGIN ",
  "://a:",
  "password=",
  "password is ",
  "token ",
  "--token-",
  "--",
  "Bearer ",
  "eyJ",
  "eyJa.eyJb.",
  "sk-",
  "glpat-",
  "A3-",
  "_KEY=",
  "curl -u a:",
  "mysql -p",
  "a:5432:a:a:",
  "key value=",
  "SG.",
  "ya29.",
  "t1.",
  "st.",
  "Q~",
  "\\n",
  "\\",
  '"',
  "'",
  " ",
  "\n",
  "a",
  "Aa",
  "A1",
  "0",
  "-",
  "_",
  ".",
  ":",
  "/",
  "=",
];

/** Parts to repeat: each by itself, with each common separator, and random mixtures drawn from the seed. */
export function hostileParts(seed: number, mixtures: number): string[] {
  const random = randomFrom(seed);
  const prefixes = PREFIXED_FORMATS.flatMap(({ prefixes: all }) => all.split(" ").slice(0, 1));
  return [
    ...new Set([
      ...PARTS,
      ...PARTS.flatMap((part) => [`${part}-`, `${part} `, `${part}a1`]),
      ...prefixes,
      ...prefixes.map((prefix) => `${prefix}-`),
      ...Array.from({ length: mixtures }, () => mixture(random)),
    ]),
  ];
}

const mixture = (random: Random): string =>
  Array.from({ length: 2 + random.below(5) }, () => random.pick(PARTS)).join("");

/** Returns the part, repeated to that many characters. */
export const repeated = (part: string, size: number): string =>
  part.repeat(Math.ceil(size / part.length)).slice(0, size);
