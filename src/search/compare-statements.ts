/**
 * Aligns two statements word by word: which word of one corresponds to which of the other, and which words
 * are left over on each side. Numbers and identifiers are paired only with equal ones.
 */
import { areOnSameSide, areOpposites } from "./opposites.ts";
import { LIGHT_WEIGHT, type Statement, type Token } from "./statement.ts";

/** Similarity of two words in meaning, from -1 to 1; 0 if one is unknown. */
export type WordSimilarity = (a: string, b: string) => number;

/** The alignment of two statements. */
export interface Pairing {
  /** For each token of the first statement, the index of its partner in the second, or -1. */
  readonly partner: readonly number[];
  /** For each token of the second statement, the index of its partner in the first, or -1. */
  readonly back: readonly number[];
  /** Pairs of opposites. */
  readonly opposed: readonly (readonly [Token, Token])[];
}

type Fits = (a: Token, b: Token) => boolean;

const isWord = ({ kind }: Token): boolean => kind === "word" || kind === "name";

/**
 * Maximum number of token pairs to compare in a round: texts with more left over have too little in common
 * for the rest to matter.
 */
const MAX_PAIRS = 10_000;

/** Pairs tokens in rounds, the most certain pairs first. */
function pairUp(a: readonly Token[], b: readonly Token[], near: WordSimilarity): Pairing {
  const partner = a.map(() => -1);
  const back = b.map(() => -1);
  const pair = (i: number, j: number): void => {
    partner[i] = j;
    back[j] = i;
  };
  pairEqual(a, b, pair);
  const rounds: Fits[] = [
    (x, y) => isWord(x) && isWord(y) && areOnSameSide(x.stem, y.stem),
    (x, y) => isWord(x) && isWord(y) && areOpposites(x.stem, y.stem),
    (x, y) => x.kind === "word" && y.kind === "word" && isDerived(x, y, near),
  ];
  for (const fits of rounds) {
    const freeA = [...a.keys()].filter((i) => partner[i] === -1);
    const freeB = [...b.keys()].filter((j) => back[j] === -1);
    if (freeA.length * freeB.length > MAX_PAIRS) break;
    for (const i of freeA) {
      const j = freeB.find((place) => back[place] === -1 && fits(a[i] as Token, b[place] as Token));
      if (j !== undefined) pair(i, j);
    }
  }
  const pairs = a.flatMap((x, i): [Token, Token][] => {
    const y = b[partner[i] as number];
    return y === undefined ? [] : [[x, y]];
  });
  const opposed = pairs.filter(([x, y]) => x.key !== y.key && areOpposites(x.stem, y.stem));
  return { partner, back, opposed };
}

/** Pairs equal tokens in order: the first with the first, the second with the second. */
function pairEqual(
  a: readonly Token[],
  b: readonly Token[],
  pair: (i: number, j: number) => void,
): void {
  const places = new Map<string, number[]>();
  for (const [j, { key }] of b.entries()) {
    const known = places.get(key);
    if (known === undefined) places.set(key, [j]);
    else known.push(j);
  }
  const used = new Map<string, number>();
  for (const [i, { key }] of a.entries()) {
    const nth = used.get(key) ?? 0;
    const j = places.get(key)?.[nth];
    if (j === undefined) continue;
    used.set(key, nth + 1);
    pair(i, j);
  }
}

/** Derived forms of one word: allergy and allergic, compare and comparison. */
function isDerived(a: Token, b: Token, near: WordSimilarity): boolean {
  const length = Math.min(a.stem.length, b.stem.length);
  let shared = 0;
  while (shared < length && a.stem[shared] === b.stem[shared]) shared++;
  const longest = Math.max(a.stem.length, b.stem.length);
  return shared >= 4 && shared >= 0.6 * longest && near(a.word, b.word) > 0.25;
}

/** The result of comparing two statements. */
export interface StatementComparison {
  readonly a: Statement;
  readonly b: Statement;
  readonly pairing: Pairing;
  /** Significant tokens without a partner, on each side. */
  readonly onlyA: readonly Token[];
  readonly onlyB: readonly Token[];
  /** Share of each statement's weight that the other statement covers, from 0 to 1. */
  readonly coverA: number;
  readonly coverB: number;
  /** Share of the weight of both statements that is paired, from 0 to 1. */
  readonly similarity: number;
}

/** Aligns two statements and measures how much they share. */
export function compareStatements(
  a: Statement,
  b: Statement,
  near: WordSimilarity,
): StatementComparison {
  const pairing = pairUp(a.tokens, b.tokens, near);
  const weigh = (tokens: readonly Token[]): number => tokens.reduce((sum, t) => sum + t.weight, 0);
  const freeA = a.tokens.filter((_, i) => pairing.partner[i] === -1);
  const freeB = b.tokens.filter((_, j) => pairing.back[j] === -1);
  const [allA, allB] = [weigh(a.tokens), weigh(b.tokens)];
  const shared = allA - weigh(freeA) + (allB - weigh(freeB));
  const [stemsA, stemsB] = [stemsOf(a), stemsOf(b)];
  return {
    a,
    b,
    pairing,
    // A word that repeats what the other statement contains adds nothing.
    onlyA: freeA.filter((token) => token.weight > LIGHT_WEIGHT && !stemsB.has(token.stem)),
    onlyB: freeB.filter((token) => token.weight > LIGHT_WEIGHT && !stemsA.has(token.stem)),
    coverA: allA === 0 ? 0 : 1 - weigh(freeA) / allA,
    coverB: allB === 0 ? 0 : 1 - weigh(freeB) / allB,
    similarity: allA + allB === 0 ? 0 : shared / (allA + allB),
  };
}

const stemsOf = ({ tokens }: Statement): ReadonlySet<string> =>
  new Set(tokens.map((token) => token.stem));
