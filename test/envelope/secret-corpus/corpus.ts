/**
 * Labelled texts with and without secrets, and how many of them a search gets right. A text is a line of
 * secrets.txt or harmless.txt, with random characters drawn from a seed: no file contains a secret. Half of the
 * texts, by digest, are held out: of these only the rates were seen while the patterns were tuned.
 */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Random, randomFrom } from "../../support/random.ts";

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";

const ALPHABETS: Readonly<Record<string, string>> = {
  an: LOWER + UPPER + DIGITS,
  az: LOWER + UPPER,
  b32: `${UPPER}234567`,
  b32p: "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
  b64: `${LOWER}${UPPER}${DIGITS}+/`,
  b64u: `${LOWER}${UPPER}${DIGITS}-_`,
  dig: DIGITS,
  HEX: `${DIGITS}ABCDEF`,
  hex: `${DIGITS}abcdef`,
  lo: LOWER + DIGITS,
  up: UPPER + DIGITS,
};
const SYMBOLS = "!#$%^*-_+?";

const DRAW = /<(?:(an|az|b32p?|b64u?|dig|HEX|hex|lo|pw|up)(\d+)|(uuid))>/g;

/** A labelled text. */
export interface LabelledText {
  /** The line of the corpus, with placeholders. */
  readonly line: string;
  readonly text: string;
  /** Where the secret is; undefined for a harmless text. */
  readonly secret: { readonly at: number; readonly end: number } | undefined;
}

/** Which half of the corpus to use. */
export type Half = "tuned" | "held-out";

const halfOf = (line: string): Half =>
  Number.parseInt(hash("sha256", line, "hex").slice(0, 2), 16) % 2 === 0 ? "tuned" : "held-out";

/** Returns the texts of a half, with characters drawn from the seed. */
export function corpus(half: Half, seed: number): LabelledText[] {
  const random = randomFrom(seed);
  return ["secrets.txt", "harmless.txt"].flatMap((file) =>
    readFileSync(join(import.meta.dirname, file), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("# ") && halfOf(line) === half)
      .map((line) => drawText(line, random)),
  );
}

function drawText(line: string, random: Random): LabelledText {
  const drawn = line
    .replace(DRAW, (_, kind: string | undefined, length: string) =>
      kind === undefined ? uuid(random) : draw(random, kind, Number(length)),
    )
    .replaceAll(/(?<!\\)\\n/g, "\n")
    .replaceAll("\\\\n", "\\n");
  const at = drawn.indexOf("«");
  if (at === -1) return { line, text: drawn, secret: undefined };
  const end = drawn.indexOf("»") - 1;
  return { line, text: drawn.replace("«", "").replace("»", ""), secret: { at, end } };
}

function draw(random: Random, kind: string, length: number): string {
  const from = ALPHABETS[kind];
  if (from === undefined) return drawPassword(random, length);
  return Array.from({ length }, () => from[random.below(from.length)]).join("");
}

/** Returns letters and digits with a symbol inside, as password generators write them. */
function drawPassword(random: Random, length: number): string {
  const plain = `${draw(random, "an", length - 3)}${draw(random, "dig", 1)}${draw(random, "az", 1)}`;
  const at = 1 + random.below(plain.length - 1);
  return `${plain.slice(0, at)}${SYMBOLS[random.below(SYMBOLS.length)]}${plain.slice(at)}`;
}

const uuid = (random: Random): string =>
  [8, 4, 4, 4, 12].map((length) => draw(random, "hex", length)).join("-");

/** What a search got wrong. */
export interface Mistakes {
  readonly secrets: number;
  readonly missed: readonly LabelledText[];
  readonly harmless: number;
  readonly redacted: readonly LabelledText[];
}

/** Characters of a secret that may be left in total, at its edges, once it is masked. */
const MAX_REST = 7;

/** Searches all texts. A secret counts as found if no more than a few characters of it are left. */
export function measure(
  texts: readonly LabelledText[],
  find: (text: string) => readonly { readonly at: number; readonly end: number }[],
): Mistakes {
  const isMissed = ({ text, secret }: LabelledText): boolean => {
    if (secret === undefined) return false;
    const masked = find(text).reduce(
      (sum, { at, end }) => sum + Math.max(0, Math.min(end, secret.end) - Math.max(at, secret.at)),
      0,
    );
    return secret.end - secret.at - masked > MAX_REST;
  };
  const secrets = texts.filter(({ secret }) => secret !== undefined);
  const harmless = texts.filter(({ secret }) => secret === undefined);
  return {
    secrets: secrets.length,
    missed: secrets.filter(isMissed),
    harmless: harmless.length,
    redacted: harmless.filter(({ text }) => find(text).length > 0),
  };
}
