/**
 * Flags statements of a handoff that conflict with its task's ledger: a must-constraint, a settled decision,
 * or an open decision presented as settled. Nothing is refused, since the comparison can be wrong and the
 * sender can be right, but the next receiver sees the flags. Only new statements are compared, and only with
 * ledger items that share words with them, so a line without musts and decisions costs nothing.
 */
import { clip } from "../base/clip.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import { judgeRecords } from "../memory/recall/similar-memories.ts";
import { LIGHT_WEIGHT, statementOf } from "../search/statement.ts";
import type { CarriedItems } from "./carry.ts";
import type { ResolvedLedger } from "./ledger.ts";

type Flag = NonNullable<Envelope["flags"]>[number];

interface HopStatement {
  readonly path: string;
  readonly text: string;
  /** Whether the statement presents something as decided. */
  readonly decides?: boolean;
}

/** A statement in force: a must-constraint, or the result of a decision. */
interface BindingStatement {
  readonly about: string;
  readonly text: string;
  readonly keys: ReadonlySet<string>;
}

/** Statements of one handoff that are compared, and flags it gets; more would not help a reader. */
const MAX_STATEMENTS = 100;
const MAX_FLAGS = 50;
/** Pairs of statements compared per handoff, about 50 microseconds each. */
const MAX_JUDGED_PAIRS = 200;
/** The share of a binding statement's words that must occur in the other for both to be on one subject. */
const MIN_OVERLAP = 0.3;

/** Returns the flags of a handoff, at most `MAX_FLAGS`. `before`: the envelope that it continues. */
export function flagsOf(
  family: ResolvedLedger,
  carried: CarriedItems,
  own: HopTexts,
  before: Envelope | undefined,
): Flag[] {
  const statements = newStatementsIn(own, family, before).slice(0, MAX_STATEMENTS);
  const isCarried = ({ id }: { readonly id: string }): boolean =>
    carried.decisions.some((each) => each.id === id);
  const flags = [
    ...carried.flags,
    ...(statements.length === 0
      ? []
      : contradictions(statements, bindingStatementsIn(family, carried))),
    ...undecided(statements, family.decisions.filter(isCarried)),
  ];
  return flags.filter(isFirst).slice(0, MAX_FLAGS);
}

/** Compares the pairs with the largest overlap first; beyond the limit, the remaining pairs share little. */
function contradictions(
  said: readonly HopStatement[],
  holding: readonly BindingStatement[],
): Flag[] {
  if (holding.length === 0) return [];
  return said
    .flatMap(({ path, text }) => {
      const keys = keysOf(text);
      return holding.map((holds) => ({ holds, path, text, share: shareOf(holds, keys) }));
    })
    .filter(({ share }) => share >= MIN_OVERLAP)
    .sort((a, b) => b.share - a.share)
    .slice(0, MAX_JUDGED_PAIRS)
    .flatMap(({ holds, path, text }) => {
      const why = contradictionOf(holds, text);
      return why === undefined ? [] : [{ about: holds.about, path, why }];
    })
    .sort((a, b) => orderOf(said, a.path) - orderOf(said, b.path));
}

const orderOf = (said: readonly HopStatement[], path: string): number =>
  said.findIndex((each) => each.path === path);

/** Returns the share of the binding statement's words that the other statement mentions, from 0 to 1. */
const shareOf = ({ keys }: BindingStatement, statedKeys: ReadonlySet<string>): number =>
  keys.size === 0 ? 0 : [...keys].filter((key) => statedKeys.has(key)).length / keys.size;

/** Flags statements that present an option of an open decision as decided. */
function undecided(said: readonly HopStatement[], open: ResolvedLedger["decisions"]): Flag[] {
  return said
    .filter(({ decides }) => decides)
    .flatMap(({ path, text }) =>
      open.flatMap(({ id, options }) => {
        const chosen = options.find((option) => mentions(text, option));
        const why = `presents "${chosen}" as decided, but the decision is open`;
        return chosen === undefined ? [] : [{ about: id, path, why: line(why) }];
      }),
    );
}

const isFirst = ({ about, path }: Flag, i: number, flags: readonly Flag[]): boolean =>
  flags.findIndex((each) => each.about === about && each.path === path) === i;

const line = (text: string): string => clip(text, FORMAT_LIMITS.lineLength);

/** Returns the statements in force; items that the handoff itself releases are not among them. */
function bindingStatementsIn(
  { constraints, released }: ResolvedLedger,
  carried: CarriedItems,
): BindingStatement[] {
  const still = constraints.filter(({ id }) => carried.constraints.some((each) => each.id === id));
  const musts = still.map(({ id, rule }) => ({ about: id, text: rule }));
  const settled = released.flatMap(({ id, decided }) =>
    decided === undefined ? [] : [{ about: id, text: decided }],
  );
  return [...musts, ...settled].map((each) => ({ ...each, keys: keysOf(each.text) }));
}

/** The same rules come with every hop of a task, and parsing one takes about 20 microseconds. */
const keyCache = new GenerationalCache<string, ReadonlySet<string>>(2_000);

function keysOf(text: string): ReadonlySet<string> {
  const before = keyCache.get(text);
  if (before !== undefined) return before;
  const distinctive = statementOf(text).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT);
  const keys = new Set(distinctive.map(({ key }) => key));
  keyCache.set(text, keys);
  return keys;
}

/** Returns statements that occur word for word neither in the previous envelope nor on the ledger. */
function newStatementsIn(
  own: HopTexts,
  family: ResolvedLedger,
  before: Envelope | undefined,
): HopStatement[] {
  const knownTexts = new Set([
    ...family.constraints.map(({ rule }) => rule),
    ...family.released.map(({ said }) => said),
    ...(before === undefined ? [] : hopStatementsOf(before).map(({ text }) => text)),
  ]);
  return hopStatementsOf(own).filter(({ text }) => !knownTexts.has(text));
}

type HopTexts = Pick<CheckedDraft, "constraints" | "decisions" | "history" | "next" | "state">;

function hopStatementsOf({
  constraints,
  decisions,
  history,
  next,
  state,
}: HopTexts): HopStatement[] {
  return [
    ...constraints.map((each, i) => ({
      path: `constraints[${i}]`,
      text: typeof each === "string" ? each : each.rule,
    })),
    ...decisions.flatMap((each, i) =>
      (typeof each === "string" ? [] : each.options).map((text, n) => ({
        path: `decisions[${i}].options[${n}]`,
        text,
      })),
    ),
    ...next.map((text, i) => ({ path: `next[${i}]`, text })),
    ...history.flatMap(({ decided }, i) =>
      decided === undefined
        ? []
        : [{ path: `history[${i}].decided`, text: decided, decides: true }],
    ),
    ...sentencesOf(state).map((text) => ({ path: "state", text })),
  ];
}

/** Splits a text into sentences, because only single sentences can be compared for contradiction. */
const sentencesOf = (text = ""): string[] =>
  text.split(/(?<=[.!?;])\s+|\n+/u).filter((sentence) => sentence.trim() !== "");

function contradictionOf({ text: holds }: BindingStatement, text: string): string | undefined {
  const { verdict, why } = judgeRecords({ content: holds }, { content: text });
  return verdict === "contradicts"
    ? line(`conflicts with "${clip(holds, 400)}": ${why}`)
    : undefined;
}

/** Matches whole words only: "Go" is not in "Going". */
function mentions(text: string, option: string): boolean {
  const [stated, wanted] = [text.toLowerCase(), option.toLowerCase()];
  for (let at = stated.indexOf(wanted); at >= 0; at = stated.indexOf(wanted, at + 1)) {
    const around = [stated[at - 1], stated[at + wanted.length]];
    if (around.every((letter) => letter === undefined || !/[\p{L}\p{N}]/u.test(letter)))
      return true;
  }
  return false;
}
