/**
 * Finds active decisions that a new decision conflicts with: it answers the same question differently,
 * chooses what the other rejected, rejects what the other chose, or states the opposite. Only words count,
 * so this can be wrong either way: the writer gets the conflicts before the write and can accept them.
 */

import { GenerationalCache } from "../base/generational-cache.ts";
import { trimEndOf } from "../base/trim-end.ts";
import { judgeRecords, nearness } from "../memory/recall/similar-memories.ts";
import { compareStatements, type StatementComparison } from "../search/compare-statements.ts";
import { LIGHT_WEIGHT, type Statement, statementOf } from "../search/statement.ts";
import type { ContextItem, DecisionBody } from "./items.ts";

/** A current decision. */
export type LiveDecision = Extract<ContextItem, { readonly section: "decisions" }>;

/** An active decision, and why the new one conflicts with it. */
export interface Contradiction {
  readonly key: string;
  readonly version: number;
  readonly memory: string;
  readonly question: string;
  readonly choice: string;
  /** The agent that wrote it. */
  readonly by: string;
  /** The reason of the conflict, as a clause with the new decision as subject. */
  readonly why: string;
}

type DecisionContent = Pick<DecisionBody, "question" | "choice" | "rejected">;

/** Returns the conflicts of a decision, ignoring the one with the same key and the one it supersedes. */
export function contradictionsOf(
  said: DecisionBody,
  live: readonly LiveDecision[],
): readonly Contradiction[] {
  return live.flatMap((each) => {
    if (each.key === said.key || each.key === said.supersedes) return [];
    const why = contradictionReasonOf(each, said);
    if (why === undefined) return [];
    const { key, version, memory, question, choice, by } = each;
    return [{ key, version, memory, question, choice, by, why }];
  });
}

/** Returns why `said` conflicts with `live`; undefined if it does not. */
export function contradictionReasonOf(
  live: DecisionContent,
  said: DecisionContent,
): string | undefined {
  if (normalizeText(live.choice) === normalizeText(said.choice)) return undefined;
  const choices = compare(live.choice, said.choice);
  if (agree(choices) && !differInSigns(live.choice, said.choice)) return undefined;
  const questions = compare(live.question, said.question);
  const isAskedAlike = normalizeText(live.question) === normalizeText(said.question);
  if (isAskedAlike || isSameQuestion(questions)) return "answers the same question differently";
  const near = countSharedTokens(questions) > 0;
  const rejects = ({ rejected }: DecisionContent, choice: string): string | undefined =>
    rejected.find(({ option }) => isChosen(option, choice) && (near || isProperName(option)))
      ?.option;
  const chosen = rejects(live, said.choice);
  if (chosen !== undefined) return `chooses "${chosen}", which that decision rejected`;
  const dropped = rejects(said, live.choice);
  if (dropped !== undefined) return `rejects "${dropped}", which that decision chose`;
  return oppositeReasonOf(live.choice, said.choice, choices);
}

/** Normalizes case, white space and final punctuation. */
const normalizeText = (text: string): string =>
  trimEndOf(text.normalize("NFKC").toLowerCase().replace(/\s+/gu, " "), " .!?");

/** Returns whether two texts differ only in signs: C# is not C++, though the words are the same. */
function differInSigns(a: string, b: string): boolean {
  const words = (text: string): string => cachedStatementOf(text).words.join(" ");
  const signs = (text: string): string =>
    text.replace(/[\p{L}\p{M}\p{N}\s]|(?![#%&*@])\p{P}/gu, "");
  return words(a) === words(b) && signs(a) !== signs(b);
}

const compare = (a: string, b: string): StatementComparison =>
  compareStatements(cachedStatementOf(a), cachedStatementOf(b), nearness);

/** The same decisions are compared with each new one, and parsing a sentence takes about 20 microseconds. */
const statementCache = new GenerationalCache<string, Statement>(2_000);

function cachedStatementOf(text: string): Statement {
  const before = statementCache.get(text);
  if (before !== undefined) return before;
  const statement = statementOf(text);
  statementCache.set(text, statement);
  return statement;
}

const significantTokensOf = ({ tokens }: Statement): Statement["tokens"] =>
  tokens.filter(({ weight }) => weight > LIGHT_WEIGHT);

/** Returns how many significant words both have in common. */
const countSharedTokens = ({ a, pairing }: StatementComparison): number =>
  a.tokens.filter(({ weight }, i) => weight > LIGHT_WEIGHT && pairing.partner[i] !== -1).length;

/** The words two statements must share where one of them says more than the other. */
const MIN_SHARED_TOKENS = 2;

/** Returns whether two questions ask the same, apart from the kind of thing that one of them names. */
function isSameQuestion(questions: StatementComparison): boolean {
  const { a, b, onlyA, onlyB } = questions;
  const shared = countSharedTokens(questions);
  if (shared === 0 || (onlyA.length > 0 && onlyB.length > 0)) return false;
  if (onlyA.length === 0 && onlyB.length === 0) return true;
  const [longer, more] = onlyA.length > 0 ? [a, onlyA] : [b, onlyB];
  return more.length === 1 && (shared >= MIN_SHARED_TOKENS || more[0]?.word === askedFor(longer));
}

/** Returns the kind of thing asked for: "Which engine do we use?" asks for an engine. */
const askedFor = ({ words }: Statement): string | undefined =>
  /^(which|what)$/.test(words[0] ?? "") ? words[1] : undefined;

/** Returns whether one choice adds nothing to the other and neither denies the other. */
function agree(choices: StatementComparison): boolean {
  const { a, b, onlyA, onlyB } = choices;
  const [yes, no] = [polarityOf(a), polarityOf(b)];
  if (yes !== undefined && no !== undefined && yes !== no) return false;
  if (significantTokensOf(a).length === 0 || significantTokensOf(b).length === 0) {
    return a.words.join(" ") === b.words.join(" ");
  }
  if (isNegated(choices) || (onlyA.length > 0 && onlyB.length > 0)) return false;
  return countSharedTokens(choices) > 0;
}

const polarityOf = ({ words }: Statement): "yes" | "no" | undefined =>
  words[0] === "yes" || words[0] === "no" ? words[0] : undefined;

/** Returns whether a shared word is negated, or replaced by its opposite, on one side only. */
function isNegated({ a, b, pairing }: StatementComparison): boolean {
  const denials =
    a.denied.filter((place) => pairing.partner[place] !== -1).length +
    b.denied.filter((place) => pairing.back[place] !== -1).length;
  return (denials + pairing.opposed.length) % 2 === 1;
}

/** Returns whether a choice includes the whole option and does not deny it. */
function isChosen(option: string, choice: string): boolean {
  const both = compare(option, choice);
  if (significantTokensOf(both.a).length === 0 || both.onlyA.length > 0 || isNegated(both))
    return false;
  return !both.b.turns.some(
    ({ word, right }) => REJECTING_WORDS.has(word) && both.pairing.back[right] !== -1,
  );
}

/** Words before a rejected option: "PostgreSQL instead of MongoDB" does not choose MongoDB. */
const REJECTING_WORDS: ReadonlySet<string> = new Set(["instead", "over", "than"]);

/** Returns whether an option is a name, which is clear on its own; "in a header" needs its question. */
const isProperName = (option: string): boolean =>
  option.split(/\s+/).every((word) => /^[^\p{L}]*\p{Lu}/u.test(word)) &&
  !/^(yes|no)\b/i.test(option);

/** Compares choices that are whole sentences, which state their subject themselves. */
function oppositeReasonOf(
  live: string,
  said: string,
  choices: StatementComparison,
): string | undefined {
  if (countSharedTokens(choices) < MIN_SHARED_TOKENS) return undefined;
  const { verdict, why } = judgeRecords({ content: live }, { content: said });
  return verdict === "contradicts" ? why : undefined;
}
