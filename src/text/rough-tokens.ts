/**
 * Counts tokens without a tokenizer table, for callers that cannot wait for one: o200k takes 150 ms to load,
 * as long as everything else a hook does. Compared with o200k and cl100k (test/text/rough-tokens.test.ts), it
 * counts 0.8 to 1.3 times as many tokens for the prose, code, paths and ids of the documentation, and more
 * for other scripts. The count is marked as an estimate, and the margin of an estimate is kept free.
 */
import { ESTIMATE_MARGIN, type Tokenizer } from "./tokens.ts";

/** Words as tokenizers split them: validateToken is two. */
const RUNS =
  /(?<word>[A-Z]+(?![a-z])|[A-Z]?[a-z]+)|(?<number>\p{N}+)|(?<sign>[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+)|(?<letters>\p{L}+)|(?<line>\n\s*)|(?<mark>[^\s\p{L}\p{N}]+)/gu;

/** A word of up to this many letters is one token; a longer one is several. */
const LETTERS_PER_TOKEN = 7;
const DIGITS_PER_TOKEN = 3;

function count(text: string): number {
  let tokens = 0;
  for (const { groups = {} } of text.matchAll(RUNS)) {
    const { word, number, sign, letters, mark } = groups;
    if (word !== undefined) tokens += Math.ceil(word.length / LETTERS_PER_TOKEN);
    else if (number !== undefined) tokens += Math.ceil(number.length / DIGITS_PER_TOKEN);
    else if (sign !== undefined) tokens += sign.length;
    else if (letters !== undefined) tokens += Math.ceil(letters.length / 2);
    else if (mark !== undefined) tokens += Math.ceil(Buffer.byteLength(mark) / 2);
    else tokens += 1; // A line break, with the spaces after it.
  }
  return tokens;
}

/** Estimates tokens without loading a table. */
export const roughTokenizer: Tokenizer = {
  name: "rough",
  exact: false,
  margin: ESTIMATE_MARGIN,
  count,
};
