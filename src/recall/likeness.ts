/**
 * Likeness: whether two notes say the same, cannot both hold, or have nothing to do with each other.
 * Pure, and without a model: words are paired by stem, family and derivation; numbers and identifiers
 * only with themselves; then what is left over on either side, what is denied, and what was turned
 * round decides. In doubt, "other": a writer who is told of a duplicate that is none stops listening.
 */
import { areAllies, areOpposites } from "./opposites.ts";
import {
  LIGHT_WEIGHT,
  type Statement,
  statementOf,
  statementsOf,
  type Token,
} from "./statement.ts";
import { stem } from "./terms.ts";

export type Verdict = "same" | "contradicts" | "other";

export interface Judgement {
  readonly verdict: Verdict;
  /** How much of what both say is said by both, from 0 to 1. */
  readonly likeness: number;
  /** For people. */
  readonly why: string;
}

/** How near two words are in meaning, from -1 to 1; 0 where one is unknown. */
export type Nearness = (a: string, b: string) => number;

const UNKNOWN: Nearness = () => 0;

/** What is known, and what somebody is about to say. */
export function judge(known: string, said: string, near: Nearness = UNKNOWN): Judgement {
  const whole = compare(statementOf(known), statementOf(said), near);
  if (whole.verdict !== "other") return whole;
  const [sentences, others] = [
    statementsOf(said).filter(isStated),
    statementsOf(known).filter(isStated),
  ];
  if (sentences.length < 2 && others.length < 2) return whole;
  return sentences.reduce((worst, sentence) => {
    const found = against(sentence, others, near);
    return found?.verdict === "contradicts" && worst.verdict === "other" ? found : worst;
  }, whole);
}

/** A question or an exclamation states nothing. */
const isStated = ({ text }: Statement): boolean => !/[?!？！]\s*$/.test(text);

/** In common, for one of many sentences to speak about what another note does. */
const SENTENCE_WORDS = 3;

/** Of many sentences only the one that shares most with this one can speak against it. */
function against(
  sentence: Statement,
  others: readonly Statement[],
  near: Nearness,
): Judgement | undefined {
  const keys = new Set(sentence.tokens.map(({ key }) => key));
  let most = 0;
  let nearest: Statement | undefined;
  for (const other of others) {
    const shared = other.tokens.reduce((sum, t) => sum + (keys.has(t.key) ? t.weight : 0), 0);
    if (shared <= most) continue;
    most = shared;
    nearest = other;
  }
  return most < SENTENCE_WORDS || nearest === undefined
    ? undefined
    : compare(nearest, sentence, near);
}

// Pairing -----------------------------------------------------------------------------------------

interface Pairing {
  /** For each token of the first, its partner in the second, or -1. */
  readonly partner: readonly number[];
  /** For each token of the second, its partner in the first, or -1. */
  readonly back: readonly number[];
  /** Pairs that are opposites. */
  readonly opposed: readonly (readonly [Token, Token])[];
}

type Fits = (a: Token, b: Token) => boolean;

const isWord = ({ kind }: Token): boolean => kind === "word" || kind === "name";

/** Texts with more to pair than this have too little in common for the rest to matter. */
const MOST_PAIRS = 10_000;

/** The surest pairs first. */
function pairUp(a: readonly Token[], b: readonly Token[], near: Nearness): Pairing {
  const partner = a.map(() => -1);
  const back = b.map(() => -1);
  const pair = (i: number, j: number): void => {
    partner[i] = j;
    back[j] = i;
  };
  pairEqual(a, b, pair);
  const rounds: Fits[] = [
    (x, y) => isWord(x) && isWord(y) && areAllies(x.stem, y.stem),
    (x, y) => isWord(x) && isWord(y) && areOpposites(x.stem, y.stem),
    (x, y) => x.kind === "word" && y.kind === "word" && isDerived(x, y, near),
  ];
  for (const fits of rounds) {
    const freeA = [...a.keys()].filter((i) => partner[i] === -1);
    const freeB = [...b.keys()].filter((j) => back[j] === -1);
    if (freeA.length * freeB.length > MOST_PAIRS) break;
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

/** The first with the first, the second with the second. */
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

/** allergy, allergic; compare, comparison. */
function isDerived(a: Token, b: Token, near: Nearness): boolean {
  const length = Math.min(a.stem.length, b.stem.length);
  let shared = 0;
  while (shared < length && a.stem[shared] === b.stem[shared]) shared++;
  const longest = Math.max(a.stem.length, b.stem.length);
  return shared >= 4 && shared >= 0.6 * longest && near(a.word, b.word) > 0.25;
}

// Comparing ---------------------------------------------------------------------------------------

interface Compared {
  readonly a: Statement;
  readonly b: Statement;
  readonly pairing: Pairing;
  /** What tells something and has no partner. */
  readonly onlyA: readonly Token[];
  readonly onlyB: readonly Token[];
  /** Shares of what each says that the other says too. */
  readonly coverA: number;
  readonly coverB: number;
  readonly likeness: number;
}

function compare(a: Statement, b: Statement, near: Nearness): Judgement {
  const pairing = pairUp(a.tokens, b.tokens, near);
  const weigh = (tokens: readonly Token[]): number => tokens.reduce((sum, t) => sum + t.weight, 0);
  const freeA = a.tokens.filter((_, i) => pairing.partner[i] === -1);
  const freeB = b.tokens.filter((_, j) => pairing.back[j] === -1);
  const [allA, allB] = [weigh(a.tokens), weigh(b.tokens)];
  const shared = allA - weigh(freeA) + (allB - weigh(freeB));
  const [stemsA, stemsB] = [stemsOf(a), stemsOf(b)];
  const compared: Compared = {
    a,
    b,
    pairing,
    // Who says again what both say adds nothing.
    onlyA: freeA.filter((token) => token.weight > LIGHT_WEIGHT && !stemsB.has(token.stem)),
    onlyB: freeB.filter((token) => token.weight > LIGHT_WEIGHT && !stemsA.has(token.stem)),
    coverA: allA === 0 ? 0 : 1 - weigh(freeA) / allA,
    coverB: allB === 0 ? 0 : 1 - weigh(freeB) / allB,
    likeness: allA + allB === 0 ? 0 : shared / (allA + allB),
  };
  return turned(compared) ?? substituted(compared) ?? repeated(compared) ?? other(compared);
}

const stemsOf = ({ tokens }: Statement): ReadonlySet<string> =>
  new Set(tokens.map((token) => token.stem));

const other = ({ likeness }: Compared): Judgement => ({
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

function turned(compared: Compared): Judgement | undefined {
  const { a, b, pairing, likeness, onlyA, onlyB } = compared;
  const denials = denialsOf(compared);
  const small = smallOpposites(a, b).filter(
    // "speeds up" against "slows down" is one turn, not two.
    ([word]) => pairing.opposed.length === 0 || word === "before" || word === "after",
  );
  const swapped = isSwapped(compared);
  const turns = denials + pairing.opposed.length + small.length + (swapped ? 1 : 0);
  if (turns % 2 === 0) return undefined;
  const least = denials % 2 === 1 ? DENIED_LIKENESS : OPPOSED_LIKENESS;
  // With something of its own on either side they speak of two things.
  if (likeness < least || (onlyA.length > 0 && onlyB.length > 0 && likeness < 0.85)) {
    return other(compared);
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
function denialsOf({ a, b, pairing }: Compared): number {
  const inA = a.denied.filter((place) => pairing.partner[place] !== -1);
  const inB = b.denied.filter((place) => pairing.back[place] !== -1);
  return inA.length + inB.length;
}

function smallOpposites(a: Statement, b: Statement): [string, string][] {
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
function isSwapped({ a, b, pairing }: Compared): boolean {
  return a.turns.some(({ left, right }) =>
    b.turns.some(
      (turn) => pairing.partner[left] === turn.right && pairing.partner[right] === turn.left,
    ),
  );
}

// Substituted -------------------------------------------------------------------------------------

const SLOT_LIKENESS = 0.6;
/** Of short notes that agree in every other word, the small ones too. */
const FRAME_LIKENESS = 0.4;
const SLOT_WORDS = 2;

/** Verbs of which a subject has many: that it supports this does not mean that it supports only this. */
const MANY = new Set(
  "support crash speak allerg know contain includ have teach plai drink fix visit bui cover offer handl accept read see like block rent".split(
    " ",
  ),
);
/** After these words stands the case that is spoken of, not what is said of it. */
const CASES = new Set("for of if when while during unless because between against".split(" "));
/** Of these there is one, wherever it stands in the sentence. */
const SINGLE = new Set("owner lead review manag maintain respons default cause chair".split(" "));
const OTHER_TIME = new Set("next last todai tomorrow yesterday noon".split(" "));

/** The same but for one place: there stands something else. */
function substituted(compared: Compared): Judgement | undefined {
  const { onlyA, onlyB, likeness } = compared;
  if (onlyA.length === 0 || onlyB.length === 0) return undefined;
  const isSlot =
    likeness >= (hasSameFrame(compared) ? FRAME_LIKENESS : SLOT_LIKENESS) &&
    onlyA.length <= SLOT_WORDS &&
    onlyB.length <= SLOT_WORDS &&
    isOneSlot(compared) &&
    isExclusive(compared);
  if (!isSlot) return other(compared);
  return {
    verdict: "contradicts",
    likeness,
    why: `${quoted(onlyA)} there, ${quoted(onlyB)} here`,
  };
}

/** In one place in each, and the places have a neighbour in common. */
function isOneSlot({ a, b, onlyA, onlyB, pairing }: Compared): boolean {
  const [i, j] = [a.tokens.indexOf(onlyA[0] as Token), b.tokens.indexOf(onlyB[0] as Token)];
  const [endA, endB] = [i + onlyA.length, j + onlyB.length];
  const isRun = a.tokens[endA - 1] === onlyA.at(-1) && b.tokens[endB - 1] === onlyB.at(-1);
  if (!isRun) return false;
  const before = i === 0 ? j === 0 : pairing.partner[i - 1] === j - 1;
  const after =
    endA === a.tokens.length ? endB === b.tokens.length : pairing.partner[endA] === endB;
  if (onlyA.every(isNumber) && onlyB.every(isNumber)) return before || after;
  return (before && after) || isSingle(a, b);
}

function hasSameFrame({ a, b, onlyA, onlyB }: Compared): boolean {
  const frame = ({ words }: Statement, slot: readonly Token[]): string =>
    words.filter((_, at) => !slot.some((token) => token.at === at)).join(" ");
  return frame(a, onlyA) === frame(b, onlyB);
}

const isSingle = (a: Statement, b: Statement): boolean =>
  [a, b].every(({ tokens, isUnique }) => isUnique || tokens.some(({ key }) => SINGLE.has(key)));

/** Whether what stands there leaves no room for the other. */
function isExclusive({ a, b, onlyA, onlyB }: Compared): boolean {
  const [x, y] = [onlyA[0] as Token, onlyB[0] as Token];
  const place = a.tokens.indexOf(x);
  const placeB = b.tokens.indexOf(y);
  if ([...onlyA, ...onlyB].some(({ key }) => OTHER_TIME.has(key))) return false;
  if (isSingle(a, b)) return true;
  if (place < a.subject || placeB < b.subject) return false;
  const areNumbers = onlyA.every(isNumber) && onlyB.every(isNumber);
  if (areNumbers) return true;
  if (a.denied.length > 0 || b.denied.length > 0) return false;
  if (MANY.has(a.tokens[place - 1]?.key ?? "")) return false;
  const lead = leadOf(a, place);
  return lead === leadOf(b, placeB) && !CASES.has(lead);
}

/** What introduces it: "at terminal 2" and "on Saturday" answer two questions. */
const leadOf = ({ leads }: Statement, place: number): string =>
  leads[place]?.findLast((word) => !ARTICLES.has(word)) ?? "";

const ARTICLES = new Set("a an the our my your their his her its".split(" "));

const isNumber = ({ kind }: Token): boolean => kind === "number";

// Repeated ----------------------------------------------------------------------------------------

/** New words are new: more than a little of them makes another note of it. */
const NEW_COVER = 0.8;
/** Who says less than is known repeats it, as long as it is the better half. */
const KNOWN_COVER = 0.55;
/** Of two words in common one may be chance. */
const FEW = 3;
const FEW_COVER = 0.75;

function repeated(compared: Compared): Judgement | undefined {
  const { b, coverA, coverB, likeness, onlyB, pairing } = compared;
  const isNew = onlyB.some(({ kind }) => kind !== "word") || coverB < NEW_COVER;
  const shared = b.tokens.filter(
    ({ weight }, j) => weight > LIGHT_WEIGHT && pairing.back[j] !== -1,
  );
  if (isNew || coverA < (shared.length < FEW ? FEW_COVER : KNOWN_COVER)) return undefined;
  const why = likeness > 0.97 ? "says the same" : "says the same in other words";
  return { verdict: "same", likeness, why };
}
