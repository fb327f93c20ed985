/**
 * Likeness: whether two notes say the same, cannot both hold, or have nothing to do with each other.
 * Pure, and without a model: words are paired by stem, family and derivation; numbers and identifiers
 * only with themselves; then what is left over on either side, what is denied, and what was turned
 * round decides. In doubt, "other": a writer who is told of a duplicate that is none stops listening.
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

export type Verdict = "same" | "contradicts" | "other";

export interface Judgement {
  readonly verdict: Verdict;
  /** How much of what both say is said by both, from 0 to 1. */
  readonly likeness: number;
  /** For people. */
  readonly why: string;
}

const UNKNOWN: WordSimilarity = () => 0;

/** What is known, and what somebody is about to say. */
export function judge(known: string, said: string, near: WordSimilarity = UNKNOWN): Judgement {
  const whole = compare(statementOf(known), statementOf(said), near);
  if (whole.verdict !== "other") return whole;
  const [sentences, others] = [
    statementsOf(said).filter(isAssertion),
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

/** A question or an exclamation states nothing. */
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

/** In common, for one of many sentences to speak about what another note does. */
const SENTENCE_WORDS = 3;
/** A word of more sentences than this tells none of them apart; longest notes stay affordable. */
const MAX_SENTENCES_PER_WORD = 50;

/** Of many sentences only the one that shares most with this one can speak against it. */
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

const other = ({ likeness }: StatementComparison): Judgement => ({
  verdict: "other",
  likeness,
  why: "says something else",
});

const quoted = (tokens: readonly Token[]): string =>
  `"${tokens.map(({ word }) => word).join(" ")}"`;

// Turned round ------------------------------------------------------------------------------------

/** How much must be shared so that a "not" on one side speaks about the same. */
const DENIED_LIKENESS = 0.66;
/** An opposite is a shared subject by itself. */
const OPPOSED_LIKENESS = 0.65;

function findReversal(both: StatementComparison): Judgement | undefined {
  const { a, b, pairing, likeness, onlyA, onlyB } = both;
  const denials = countNegations(both);
  const small = oppositeRelationWords(a, b).filter(
    // "speeds up" against "slows down" is one turn, not two.
    ([word]) => pairing.opposed.length === 0 || word === "before" || word === "after",
  );
  const swapped = isSwapped(both);
  const turns = denials + pairing.opposed.length + small.length + (swapped ? 1 : 0);
  if (turns % 2 === 0) return undefined;
  const least = denials % 2 === 1 ? DENIED_LIKENESS : OPPOSED_LIKENESS;
  // With something of its own on either side they speak of two things.
  if (likeness < least || (onlyA.length > 0 && onlyB.length > 0 && likeness < 0.85)) {
    return other(both);
  }
  const [opposed] = pairing.opposed;
  const why =
    opposed !== undefined
      ? `${quoted([opposed[0]])} against ${quoted([opposed[1]])}`
      : small.length > 0
        ? `"${small[0]?.join('" against "')}"`
        : swapped
          ? "the same in the opposite order"
          : "one says it, the other denies it";
  return { verdict: "contradicts", likeness, why };
}

/** Denials of what both speak about; what only one speaks about may be denied freely. */
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

/** What stands on either side of "before", "than" and such has changed sides. */
function isSwapped({ a, b, pairing }: StatementComparison): boolean {
  return a.turns.some(({ left, right }) =>
    b.turns.some(
      (turn) => pairing.partner[left] === turn.right && pairing.partner[right] === turn.left,
    ),
  );
}

// Substituted -------------------------------------------------------------------------------------

/** With something of its own on either side, one speaks against the other or of something else. */
function findSubstitution(both: StatementComparison): Judgement | undefined {
  const { onlyA, onlyB, likeness } = both;
  if (onlyA.length === 0 || onlyB.length === 0) return undefined;
  if (!isSubstituted(both)) return other(both);
  const why = `${quoted(onlyA)} there, ${quoted(onlyB)} here`;
  return { verdict: "contradicts", likeness, why };
}

// Repeated ----------------------------------------------------------------------------------------

/** New words are new: more than a little of them makes another note of it. */
const NEW_COVER = 0.8;
/** Who says less than is known repeats it, as long as it is the better half. */
const KNOWN_COVER = 0.55;
/** Of two words in common one may be chance. */
const FEW = 3;
const FEW_COVER = 0.75;

function findRepetition(both: StatementComparison): Judgement | undefined {
  const { b, coverA, coverB, likeness, onlyB, pairing } = both;
  const isNew = onlyB.some(({ kind }) => kind !== "word") || coverB < NEW_COVER;
  const shared = b.tokens.filter(
    ({ weight }, j) => weight > LIGHT_WEIGHT && pairing.back[j] !== -1,
  );
  if (isNew || coverA < (shared.length < FEW ? FEW_COVER : KNOWN_COVER)) return undefined;
  const why = likeness > 0.97 ? "says the same" : "says the same in other words";
  return { verdict: "same", likeness, why };
}
