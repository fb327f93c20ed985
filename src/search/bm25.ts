/**
 * BM25: how much a term contributes that occurs `times` in a text of `length` terms, if texts have `average`
 * terms. Each repetition adds less, and a long text contains more terms by chance. A lower B costs eleven
 * points of recall on long messages; keep it.
 */
const K1 = 1.2;
const B = 0.75;

/** Returns the term-frequency part of BM25 for one text. */
export function saturation(times: number, length: number, average: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / average));
}

/** Returns the weight of a term that occurs in `among` of `total` records (inverse document frequency). */
export function rarity(among: number, total: number): number {
  return Math.log(1 + (total - among + 0.5) / (among + 0.5));
}

/**
 * The index stores the postings of a term separately by its weight in the record, so that the first ones read
 * are the ones that count. The class is computed once, with a typical length; the ranking score is computed
 * again with the real one.
 */
const USUAL_LENGTH = 25;
const CLASS_BOUNDS = [0.8, 1.1, 1.45];
/** Approximate contribution of a term of each class. */
export const CLASS_WEIGHTS = [0.65, 0.95, 1.27, 1.7] as const;
/**
 * Class of terms that occur only in the body. It is separate, so that the rarity of a word depends on
 * contents alone.
 */
export const BODY_CLASS = CLASS_WEIGHTS.length;
export const BODY_CLASS_WEIGHT = 0.8;

/** Returns the weight class of a term. */
export function weightClass(times: number, length: number): number {
  const weight = saturation(times, length, USUAL_LENGTH);
  const found = CLASS_BOUNDS.findIndex((bound) => weight < bound);
  return found === -1 ? CLASS_BOUNDS.length : found;
}
