/**
 * Counts tokens with the public tokenizers, chosen by the receiver's model. If the tokenizer of a model is
 * not published, tokens are counted with o200k and the count is marked as an estimate; a share of the budget
 * is then kept free for the difference.
 *
 * Tables are loaded on first use: loading takes a quarter of a second, and most calls never count.
 */
import { GenerationalCache } from "../base/generational-cache.ts";

/** The public tokenizers that Baton can load. */
export const ENCODINGS = ["o200k_base", "cl100k_base", "p50k_base"] as const;
export type Encoding = (typeof ENCODINGS)[number];

type TokenCounter = (text: string) => number;

/** Counts the tokens of a text for one model. */
export interface Tokenizer {
  /** "rough" counts without a table. */
  readonly name: Encoding | "rough";
  /** False if the model's tokenizer is not published, so the count is an estimate. */
  readonly exact: boolean;
  /** Share of a budget to keep free because the count is an estimate; 0 if it is exact. */
  readonly margin: number;
  readonly count: TokenCounter;
}

/**
 * Allows for the error of an estimate: three quarters of a budget hold a text that takes a third more tokens
 * than counted. A choice, not a measurement: the tokenizers it stands for are not published.
 */
export const ESTIMATE_MARGIN = 0.25;

/**
 * Model name patterns and their tokenizers; the first match applies. Vendor prefixes (`openai/…`) are removed
 * before.
 */
const MODELS: readonly (readonly [RegExp, Encoding])[] = [
  [/^(?:chatgpt-)?(?:gpt-?(?:4o|4\.1|4\.5|5|oss)|chatgpt-4o|o[1-9])(?![0-9])/, "o200k_base"],
  [/^(?:gpt-?4|gpt-?3\.5|gpt-?35|text-embedding-3|text-embedding-ada-002)(?![0-9])/, "cl100k_base"],
  [/^(?:text-davinci-00[23]|code-davinci|code-cushman)/, "p50k_base"],
];

/** Returns the tokenizer of a model; an estimate for an unknown model or none. */
export async function tokenizerFor(model?: string): Promise<Tokenizer> {
  const known = model === undefined ? undefined : encodingOf(model);
  if (known !== undefined) return exactTokenizer(known);
  const count = await counterOf("o200k_base");
  return { name: "o200k_base", exact: false, margin: ESTIMATE_MARGIN, count };
}

/** Returns a tokenizer by name, as exact: a caller that names a tokenizer knows that its model uses it. */
export async function exactTokenizer(name: Encoding): Promise<Tokenizer> {
  return { name, exact: true, margin: 0, count: await counterOf(name) };
}

function encodingOf(model: string): Encoding | undefined {
  const name = model.toLowerCase().trim().replace(/^.*\//, "");
  return MODELS.find(([pattern]) => pattern.test(name))?.[1];
}

const loading = new Map<Encoding, Promise<TokenCounter>>();

function counterOf(name: Encoding): Promise<TokenCounter> {
  const known = loading.get(name);
  if (known !== undefined) return known;
  const loaded = load(name);
  loading.set(name, loaded);
  return loaded;
}

async function load(name: Encoding): Promise<TokenCounter> {
  const splits = await import("gpt-tokenizer/encodingParams/constants");
  switch (name) {
    case "o200k_base": {
      const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
      return countByWords(splits.O200K_TOKEN_SPLIT_REGEX, countTokens);
    }
    case "cl100k_base": {
      const { countTokens } = await import("gpt-tokenizer/encoding/cl100k_base");
      return countByWords(splits.CL100K_TOKEN_SPLIT_REGEX, countTokens);
    }
    case "p50k_base": {
      const { countTokens } = await import("gpt-tokenizer/encoding/p50k_base");
      return countByWords(splits.R50K_TOKEN_SPLIT_REGEX, countTokens);
    }
  }
}

type CountTokens = (text: string, options: { disallowedSpecial: Set<string> }) => number;

/** Cached words with their counts, in each generation. */
const WORD_CACHE_SIZE = 50_000;
/**
 * The time to merge a word, or a run of punctuation, grows with the square of its length: 64,000 characters
 * take eleven seconds. No natural text has such words, but any caller can store one. From this length on, a
 * word counts as its number of bytes, which is never too few.
 */
const LONG_WORD = 400;

/**
 * Tokenizers split a text into words before they merge these into tokens, so its count is the sum of theirs.
 * A team uses the same words all day: caching the counts makes counting four times as fast.
 */
function countByWords(split: RegExp, countTokens: CountTokens): TokenCounter {
  const known = new GenerationalCache<string, number>(WORD_CACHE_SIZE);
  // Text in the form of a control token counts as plain text: stored content must not affect the counter.
  const options = { disallowedSpecial: new Set<string>() };
  const countWord = (word: string): number => {
    if (word.length >= LONG_WORD) return Buffer.byteLength(word);
    const counted = countTokens(word, options);
    known.set(word, counted);
    return counted;
  };
  return (text) => {
    let tokens = 0;
    for (const word of text.match(split) ?? []) tokens += known.get(word) ?? countWord(word);
    return tokens;
  };
}

/** Returns a counter of o200k tokens. */
export const tokenCounter = (): Promise<TokenCounter> => counterOf("o200k_base");

/** Cached blocks with their counts, in each generation: about 100 bytes each. */
const BLOCK_CACHE_SIZE = 50_000;
const counts = new GenerationalCache<string, number>(BLOCK_CACHE_SIZE);

/**
 * Counts the tokens of a block rendered from a stored record. `key` identifies the record and how it is
 * rendered. Records never change, so a cached count stays valid; counting again would take most of the time
 * of composing a view.
 */
export function countBlock(tokenizer: Tokenizer, key: string, text: () => string): number {
  const named = `${tokenizer.name} ${key}`;
  const known = counts.get(named);
  if (known !== undefined) return known;
  const counted = tokenizer.count(text());
  counts.set(named, counted);
  return counted;
}
