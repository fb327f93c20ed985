/**
 * BM25, the part that depends on one text: how much a term weighs that is said `times` in a text of
 * `length` terms, when texts have `average` terms. A term said again weighs ever less more; a long
 * text says more by chance. Low b loses eleven points of recall on long messages: leave it.
 */
const K1 = 1.2;
const B = 0.75;

export function saturation(times: number, length: number, average: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / average));
}

/** How much a term tells that `among` of `total` records have. */
export function rarity(among: number, total: number): number {
  return Math.log(1 + (total - among + 0.5) / (among + 0.5));
}

/**
 * The index keeps the postings of a term apart by how much it weighs in the record, so that the
 * first ones read are the ones that count. The class is judged against a usual length, once; the
 * score that ranks is computed again from the real one.
 */
const USUAL_LENGTH = 25;
const CLASS_BOUNDS = [0.8, 1.1, 1.45];
/** What a term of each class weighs, about. */
export const CLASS_WEIGHTS = [0.65, 0.95, 1.27, 1.7] as const;
/** Said in the body only: a class of its own, so that how rare a word is depends on contents alone. */
export const BODY_CLASS = CLASS_WEIGHTS.length;
export const BODY_CLASS_WEIGHT = 0.8;

export function weightClass(times: number, length: number): number {
  const weight = saturation(times, length, USUAL_LENGTH);
  const found = CLASS_BOUNDS.findIndex((bound) => weight < bound);
  return found === -1 ? CLASS_BOUNDS.length : found;
}
