/**
 * Decides whether two statements that differ in one place exclude each other there. "port 5432" and "port
 * 6543" do; "supports gzip" and "supports brotli" do not.
 */
import type { StatementComparison } from "./compare-statements.ts";
import type { Statement, Token } from "./statement.ts";
import { familyOf } from "./synonyms.ts";
import { stem } from "./terms.ts";

const SLOT_LIKENESS = 0.6;
/** For short notes in which every other word is equal, including function words. */
const FRAME_LIKENESS = 0.4;
const SLOT_WORDS = 2;

/** Returns the keys of these words, in the form that tokens have. */
const keysOf = (words: string): ReadonlySet<string> =>
  new Set(words.split(/\s+/).map((word) => familyOf(stem(word))));

/** Verbs that take several objects: to support one thing does not mean to support only that. */
const MULTI_VALUED_VERBS = keysOf(
  `support crash speak allergic know contain include have teach play drink fix visit buy cover offer
  handle accept read see like block rent`,
);
/** A word after one of these names the case, not the statement about it. */
const CASES = new Set("for of if when while during unless because between against".split(" "));
/** Roles that have a single holder, wherever they occur in the sentence. */
const SINGLE_VALUED_ROLES = keysOf("owner lead review manager maintain responsible default chair");
const RELATIVE_TIMES = keysOf("next last today tomorrow yesterday noon");

/** Returns true if the statements are equal except for one place, where the values exclude each other. */
export function isSubstituted(compared: StatementComparison): boolean {
  const { onlyA, onlyB, similarity } = compared;
  if (onlyA.length > SLOT_WORDS || onlyB.length > SLOT_WORDS) return false;
  const least = hasSameFrame(compared) ? FRAME_LIKENESS : SLOT_LIKENESS;
  return similarity >= least && isOneSlot(compared) && isExclusive(compared);
}

/**
 * Returns true if the difference is one run of words in each statement, and the runs have a neighbour in
 * common.
 */
function isOneSlot({ a, b, onlyA, onlyB, pairing }: StatementComparison): boolean {
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

function hasSameFrame({ a, b, onlyA, onlyB }: StatementComparison): boolean {
  const frame = ({ words }: Statement, slot: readonly Token[]): string =>
    words.filter((_, at) => !slot.some((token) => token.at === at)).join(" ");
  return frame(a, onlyA) === frame(b, onlyB);
}

const isSingle = (a: Statement, b: Statement): boolean =>
  [a, b].every(
    ({ tokens, isUnique }) => isUnique || tokens.some(({ key }) => SINGLE_VALUED_ROLES.has(key)),
  );

/** Returns true if the values at that place exclude each other. */
function isExclusive({ a, b, onlyA, onlyB }: StatementComparison): boolean {
  const [x, y] = [onlyA[0] as Token, onlyB[0] as Token];
  const place = a.tokens.indexOf(x);
  const placeB = b.tokens.indexOf(y);
  if ([...onlyA, ...onlyB].some(({ key }) => RELATIVE_TIMES.has(key))) return false;
  if (isSingle(a, b)) return true;
  if (place < a.subject || placeB < b.subject) return false;
  const areNumbers = onlyA.every(isNumber) && onlyB.every(isNumber);
  if (areNumbers) return true;
  if (a.denied.length > 0 || b.denied.length > 0) return false;
  if (MULTI_VALUED_VERBS.has(a.tokens[place - 1]?.key ?? "")) return false;
  const lead = leadOf(a, place);
  return lead === leadOf(b, placeB) && !CASES.has(lead);
}

/**
 * Returns the word that introduces the value: "at terminal 2" and "on Saturday" answer different questions.
 */
const leadOf = ({ leads }: Statement, place: number): string =>
  leads[place]?.findLast((word) => !ARTICLES.has(word)) ?? "";

const ARTICLES = new Set("a an the our my your their his her its".split(" "));

const isNumber = ({ kind }: Token): boolean => kind === "number";
