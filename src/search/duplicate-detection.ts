/**
 * Duplicate detection: decides whether two notes state the same, contradict each other, or are unrelated.
 * Pure, and without a model: words are paired by stem, synonym and derivation, numbers and identifiers only
 * with equal ones; then the decision depends on what is left over on each side, what is negated and what was
 * reversed. In doubt the verdict is "other": writers who get false warnings about duplicates stop reading
 * them.
 */
import {
  compareStatements,
  type StatementComparison,
  type WordSimilarity,
} from "./compare-statements.ts";
import { areOpposites } from "./opposites.ts";
import {
  LIGHT_WEIGHT,
  type Statement,
  statementOf,
  statementsOf,
  type Token,
} from "./statement.ts";
import { isSubstituted } from "./substitution.ts";
import { stem } from "./terms.ts";

/** The relation of a new note to a known one. */
export type Verdict = "same" | "contradicts" | "other";

/** A verdict with its reason. */
export interface Judgement {
  readonly verdict: Verdict;
  /** How much of both notes is in both, from 0 to 1. */
  readonly similarity: number;
  /** The reason, for people. */
  readonly why: string;
}

const UNKNOWN: WordSimilarity = () => 0;

/** Compares a known note with a new one. */
export function judge(known: string, added: string, near: WordSimilarity = UNKNOWN): Judgement {
  const whole = compare(statementOf(known), statementOf(added), near);
  if (whole.verdict !== "other") return whole;
  const [sentences, others] = [
    statementsOf(added).filter(isAssertion),
    statementsOf(known).filter(isAssertion),
  ];
  if (sentences.length < 2 && others.length < 2) return whole;
  const having = sentencesByKey(others);
  for (const sentence of sentences) {
    const nearest = nearestOf(sentence, having);
    const found = nearest && compare(nearest, sentence, near);
    if (found?.verdict === "contradicts") return found;
  }
  return whole;
}

/** Returns true for a statement; a question or an exclamation states nothing. */
const isAssertion = ({ text }: Statement): boolean => !/[?!？！]\s*$/.test(text);

type ByKey = ReadonlyMap<string, readonly Statement[]>;

function sentencesByKey(sentences: readonly Statement[]): ByKey {
  const having = new Map<string, Statement[]>();
  for (const sentence of sentences) {
    for (const key of new Set(sentence.tokens.map((token) => token.key))) {
      const known = having.get(key);
      if (known === undefined) having.set(key, [sentence]);
      else known.push(sentence);
    }
  }
  return having;
}

/** Weight that two sentences of longer notes must share to be about the same thing. */
const SENTENCE_WORDS = 3;
/**
 * A word that occurs in more sentences does not distinguish them; this bounds the cost of the longest notes.
 */
const MAX_SENTENCES_PER_WORD = 50;

/** Returns the sentence that shares most with this one: of many, only that one can contradict it. */
function nearestOf({ tokens }: Statement, having: ByKey): Statement | undefined {
  const shared = new Map<Statement, number>();
  for (const { key, weight } of tokens) {
    const sentences = having.get(key) ?? [];
    if (sentences.length > MAX_SENTENCES_PER_WORD) continue;
    for (const each of sentences) shared.set(each, (shared.get(each) ?? 0) + weight);
  }
  const [nearest] = [...shared].sort(([, a], [, b]) => b - a);
  return nearest === undefined || nearest[1] < SENTENCE_WORDS ? undefined : nearest[0];
}

function compare(a: Statement, b: Statement, near: WordSimilarity): Judgement {
  const both = compareStatements(a, b, near);
  return findReversal(both) ?? findSubstitution(both) ?? findRepetition(both) ?? other(both);
}

const other = ({ similarity }: StatementComparison): Judgement => ({
  verdict: "other",
  similarity,
  why: "different statements",
});

const quoted = (tokens: readonly Token[]): string =>
  `"${tokens.map(({ word }) => word).join(" ")}"`;

// Reversals ----------------------------------------------------------------------------------------

/** Minimum similarity for a negation on one side to be about the same thing. */
const DENIED_LIKENESS = 0.66;
/** Lower than for negations, because opposites already share a subject. */
const OPPOSED_LIKENESS = 0.65;

function findReversal(both: StatementComparison): Judgement | undefined {
  const { a, b, pairing, similarity, onlyA, onlyB } = both;
  const denials = countNegations(both);
  const small = oppositeRelationWords(a, b).filter(
    // "speeds up" and "slows down" differ in one reversal, not two.
    ([word]) => pairing.opposed.length === 0 || word === "before" || word === "after",
  );
  const swapped = isSwapped(both);
  const turns = denials + pairing.opposed.length + small.length + (swapped ? 1 : 0);
  if (turns % 2 === 0) return undefined;
  const least = denials % 2 === 1 ? DENIED_LIKENESS : OPPOSED_LIKENESS;
  // If both sides have words left over, they are about different things.
  if (similarity < least || (onlyA.length > 0 && onlyB.length > 0 && similarity < 0.85)) {
    return other(both);
  }
  const [opposed] = pairing.opposed;
  const why =
    opposed !== undefined
      ? `${quoted([opposed[0]])} versus ${quoted([opposed[1]])}`
      : small.length > 0
        ? `"${small[0]?.join('" versus "')}"`
        : swapped
          ? "the same in reverse order"
          : "one affirms it, the other denies it";
  return { verdict: "contradicts", similarity, why };
}

/** Counts negations of words that both contain; words of only one statement may be negated freely. */
function countNegations({ a, b, pairing }: StatementComparison): number {
  const inA = a.denied.filter((place) => pairing.partner[place] !== -1);
  const inB = b.denied.filter((place) => pairing.back[place] !== -1);
  return inA.length + inB.length;
}

function oppositeRelationWords(a: Statement, b: Statement): [string, string][] {
  const found: [string, string][] = [];
  for (const word of a.small) {
    for (const opposite of b.small) {
      const both = a.small.has(opposite) || b.small.has(word);
      if (!both && areOpposites(stem(word), stem(opposite))) found.push([word, opposite]);
    }
  }
  return found;
}

/** Returns true if the words around "before", "than" and the like have changed sides. */
function isSwapped({ a, b, pairing }: StatementComparison): boolean {
  return a.turns.some(({ left, right }) =>
    b.turns.some(
      (turn) => pairing.partner[left] === turn.right && pairing.partner[right] === turn.left,
    ),
  );
}

// Substitutions ------------------------------------------------------------------------------------

/** If both sides have words left over, the statements contradict each other or are about different things. */
function findSubstitution(both: StatementComparison): Judgement | undefined {
  const { onlyA, onlyB, similarity } = both;
  if (onlyA.length === 0 || onlyB.length === 0) return undefined;
  if (!isSubstituted(both)) return other(both);
  const why = `${quoted(onlyA)} before, ${quoted(onlyB)} now`;
  return { verdict: "contradicts", similarity, why };
}

// Repetitions --------------------------------------------------------------------------------------

/** Minimum share of the new note that is known: more new words make it a different note. */
const NEW_COVER = 0.8;
/**
 * Minimum share of the known note that is repeated: a note that states less still repeats it, if it covers
 * the larger half.
 */
const KNOWN_COVER = 0.55;
/** With fewer shared words than this, one may be chance, so more must be covered. */
const FEW = 3;
const FEW_COVER = 0.75;

function findRepetition(both: StatementComparison): Judgement | undefined {
  const { b, coverA, coverB, similarity, onlyB, pairing } = both;
  const isNew = onlyB.some(({ kind }) => kind !== "word") || coverB < NEW_COVER;
  const shared = b.tokens.filter(
    ({ weight }, j) => weight > LIGHT_WEIGHT && pairing.back[j] !== -1,
  );
  if (isNew || coverA < (shared.length < FEW ? FEW_COVER : KNOWN_COVER)) return undefined;
  const why = similarity > 0.97 ? "states the same" : "states the same in other words";
  return { verdict: "same", similarity, why };
}
