/**
 * One place where two statements differ: whether what stands there in each leaves no room for the
 * other. "port 5432" and "port 6543" do not; "supports gzip" and "supports brotli" do.
 */
import type { StatementComparison } from "./compare-statements.ts";
import type { Statement, Token } from "./statement.ts";
import { familyOf } from "./synonyms.ts";
import { stem } from "./terms.ts";

const SLOT_LIKENESS = 0.6;
/** Of short notes that agree in every other word, the small ones too. */
const FRAME_LIKENESS = 0.4;
const SLOT_WORDS = 2;

/** The keys of these words, as statements have them. */
const keysOf = (words: string): ReadonlySet<string> =>
  new Set(words.split(/\s+/).map((word) => familyOf(stem(word))));

/** Verbs of which a subject has many: that it supports this does not mean that it supports only this. */
const MULTI_VALUED_VERBS = keysOf(
  `support crash speak allergic know contain include have teach play drink fix visit buy cover offer
  handle accept read see like block rent`,
);
/** After these words stands the case that is spoken of, not what is said of it. */
const CASES = new Set("for of if when while during unless because between against".split(" "));
/** Of these there is one, wherever it stands in the sentence. */
const SINGLE_VALUED_ROLES = keysOf("owner lead review manager maintain responsible default chair");
const RELATIVE_TIMES = keysOf("next last today tomorrow yesterday noon");

/** The same but for one place, where something else stands that excludes it. */
export function isSubstituted(compared: StatementComparison): boolean {
  const { onlyA, onlyB, likeness } = compared;
  if (onlyA.length > SLOT_WORDS || onlyB.length > SLOT_WORDS) return false;
  const least = hasSameFrame(compared) ? FRAME_LIKENESS : SLOT_LIKENESS;
  return likeness >= least && isOneSlot(compared) && isExclusive(compared);
}

/** In one place in each, and the places have a neighbour in common. */
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

/** Whether what stands there leaves no room for the other. */
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

/** What introduces it: "at terminal 2" and "on Saturday" answer two questions. */
const leadOf = ({ leads }: Statement, place: number): string =>
  leads[place]?.findLast((word) => !ARTICLES.has(word)) ?? "";

const ARTICLES = new Set("a an the our my your their his her its".split(" "));

const isNumber = ({ kind }: Token): boolean => kind === "number";
