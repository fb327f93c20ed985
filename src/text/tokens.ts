/**
 * Counting tokens with the public tokenizers, chosen by the receiver's model. A model whose tokenizer
 * nobody published is counted with o200k, and the count is called an estimate: a share of the budget is
 * kept free for the difference.
 *
 * Tables are loaded on first use: they take a quarter of a second, and most calls never count.
 */
import { GenerationalCache } from "../base/generational-cache.ts";

export const ENCODINGS = ["o200k_base", "cl100k_base", "p50k_base"] as const;
export type Encoding = (typeof ENCODINGS)[number];

type TokenCounter = (text: string) => number;

export interface Tokenizer {
  /** "rough": without a table. */
  readonly name: Encoding | "rough";
  /** False: the model counts by a tokenizer nobody published. */
  readonly exact: boolean;
  /** The share of a budget that is kept free because the count is an estimate; 0 when it is exact. */
  readonly margin: number;
  readonly count: TokenCounter;
}

/**
 * What an estimate may be wrong by: a budget less a quarter holds a text that takes a third more than
 * counted. Chosen, not measured: the tokenizers it stands for are not published.
 */
export const ESTIMATE_MARGIN = 0.25;

/** Models and what counts for them; the first that fits. Vendors' prefixes (`openai/…`) are cut off. */
const MODELS: readonly (readonly [RegExp, Encoding])[] = [
  [/^(?:chatgpt-)?(?:gpt-?(?:4o|4\.1|4\.5|5|oss)|chatgpt-4o|o[1-9])(?![0-9])/, "o200k_base"],
  [/^(?:gpt-?4|gpt-?3\.5|gpt-?35|text-embedding-3|text-embedding-ada-002)(?![0-9])/, "cl100k_base"],
  [/^(?:text-davinci-00[23]|code-davinci|code-cushman)/, "p50k_base"],
];

/** The tokenizer of a model; of one that is not known, or none, an estimate. */
export async function tokenizerFor(model?: string): Promise<Tokenizer> {
  const known = model === undefined ? undefined : encodingOf(model);
  if (known !== undefined) return exactTokenizer(known);
  const count = await counterOf("o200k_base");
  return { name: "o200k_base", exact: false, margin: ESTIMATE_MARGIN, count };
}

/** A tokenizer by its name: who names it knows that it counts. */
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

/** Words remembered with their counts, in each generation. */
const WORD_CACHE_SIZE = 50_000;
/**
 * A word, or a run of signs, is merged in time that grows with the square of its length: one of 64,000
 * characters takes eleven seconds. No text has words like that, but somebody may store one. From this
 * length on it counts as its bytes, which is never too few.
 */
const LONG_WORD = 400;

/**
 * A text is split into words before these are merged into tokens, so its count is the sum of theirs. A
 * team uses the same words all day: remembering them counts four times as fast.
 */
function countByWords(split: RegExp, countTokens: CountTokens): TokenCounter {
  const known = new GenerationalCache<string, number>(WORD_CACHE_SIZE);
  // Text that looks like a control token is text: stored content never steers the counter.
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

/** Counting o200k tokens. */
export const tokenCounter = (): Promise<TokenCounter> => counterOf("o200k_base");

/** Blocks remembered with their counts, in each generation: some 100 bytes each. */
const BLOCK_CACHE_SIZE = 50_000;
const counts = new GenerationalCache<string, number>(BLOCK_CACHE_SIZE);

/**
 * The tokens of a block that is made of a stored record, by a key that says which and how. Records
 * never change, so a count is good for ever; counting again would take most of the time of composing.
 */
export function countBlock(tokenizer: Tokenizer, key: string, text: () => string): number {
  const named = `${tokenizer.name} ${key}`;
  const known = counts.get(named);
  if (known !== undefined) return known;
  const counted = tokenizer.count(text());
  counts.set(named, counted);
  return counted;
}
