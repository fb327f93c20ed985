/**
 * What a hop says against what its line carries: nothing is refused, since the judge of likeness can be
 * wrong and the hop may be right, but the next receiver is told. Only what the hop says anew is looked
 * at, and only beside what shares words with it: a line without musts and decisions costs nothing.
 */
import { clip } from "../base/clip.ts";
import { Generations } from "../base/generations.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import { judgeRecords } from "../memory/recall/known.ts";
import { LIGHT_WEIGHT, statementOf } from "../search/statement.ts";
import type { Carried } from "./carry.ts";
import type { Family } from "./ledger.ts";

type Flag = NonNullable<Envelope["flags"]>[number];

interface Said {
  readonly path: string;
  readonly text: string;
  /** It says that something was decided. */
  readonly decides?: boolean;
}

/** Something that holds: a must, or what a decision came to. */
interface Holds {
  readonly about: string;
  readonly text: string;
  readonly keys: ReadonlySet<string>;
}

/** Texts of one hop that are looked at, and flags it gets: what is more is no more use to a reader. */
const MOST_SAID = 100;
const MOST_FLAGS = 50;
/** Pairs of a hop that are judged, some fifty microseconds each. */
const MOST_JUDGED = 200;
/** Of the words of what holds, so much must be there for it to be about the same. */
const IN_COMMON = 0.3;

export function flagsOf(
  family: Family,
  carried: Carried,
  own: Texts,
  before: Envelope | undefined,
): Flag[] {
  const said = saidIn(own, family, before).slice(0, MOST_SAID);
  const isCarried = ({ id }: { readonly id: string }): boolean =>
    carried.decisions.some((each) => each.id === id);
  const flags = [
    ...carried.flags,
    ...(said.length === 0 ? [] : contradictions(said, holdingIn(family, carried))),
    ...undecided(said, family.decisions.filter(isCarried)),
  ];
  return flags.filter(isFirst).slice(0, MOST_FLAGS);
}

/** Those that share most are judged: of very many pairs, the rest is no more than alike. */
function contradictions(said: readonly Said[], holding: readonly Holds[]): Flag[] {
  if (holding.length === 0) return [];
  return said
    .flatMap(({ path, text }) => {
      const keys = keysOf(text);
      return holding.map((holds) => ({ holds, path, text, share: shareOf(holds, keys) }));
    })
    .filter(({ share }) => share >= IN_COMMON)
    .sort((a, b) => b.share - a.share)
    .slice(0, MOST_JUDGED)
    .flatMap(({ holds, path, text }) => {
      const why = against(holds, text);
      return why === undefined ? [] : [{ about: holds.about, path, why }];
    })
    .sort((a, b) => orderOf(said, a.path) - orderOf(said, b.path));
}

const orderOf = (said: readonly Said[], path: string): number =>
  said.findIndex((each) => each.path === path);

/** How much of what holds is spoken of. */
const shareOf = ({ keys }: Holds, said: ReadonlySet<string>): number =>
  keys.size === 0 ? 0 : [...keys].filter((key) => said.has(key)).length / keys.size;

/** What is said to be decided, and is open. */
function undecided(said: readonly Said[], open: Family["decisions"]): Flag[] {
  return said
    .filter(({ decides }) => decides)
    .flatMap(({ path, text }) =>
      open.flatMap(({ id, options }) => {
        const chosen = options.find((option) => mentions(text, option));
        const why = `speaks of "${chosen}" as decided, and the decision is open`;
        return chosen === undefined ? [] : [{ about: id, path, why: line(why) }];
      }),
    );
}

const isFirst = ({ about, path }: Flag, i: number, flags: readonly Flag[]): boolean =>
  flags.findIndex((each) => each.about === about && each.path === path) === i;

const line = (text: string): string => clip(text, FORMAT_LIMITS.lineLength);

/** What the hop releases itself holds no more. */
function holdingIn({ constraints, released }: Family, carried: Carried): Holds[] {
  const still = constraints.filter(({ id }) => carried.constraints.some((each) => each.id === id));
  const musts = still.map(({ id, rule }) => ({ about: id, text: rule }));
  const settled = released.flatMap(({ id, decided }) =>
    decided === undefined ? [] : [{ about: id, text: decided }],
  );
  return [...musts, ...settled].map((each) => ({ ...each, keys: keysOf(each.text) }));
}

/** The same rules come with every hop of a task; taking one apart takes some twenty microseconds. */
const known = new Generations<string, ReadonlySet<string>>(2_000);

function keysOf(text: string): ReadonlySet<string> {
  const before = known.get(text);
  if (before !== undefined) return before;
  const telling = statementOf(text).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT);
  const keys = new Set(telling.map(({ key }) => key));
  known.set(text, keys);
  return keys;
}

/** What the hop says itself: neither what it was handed nor what the ledger says word for word. */
function saidIn(own: Texts, family: Family, before: Envelope | undefined): Said[] {
  const heard = new Set([
    ...family.constraints.map(({ rule }) => rule),
    ...family.released.map(({ said }) => said),
    ...(before === undefined ? [] : textsOf(before).map(({ text }) => text)),
  ]);
  return textsOf(own).filter(({ text }) => !heard.has(text));
}

type Texts = Pick<CheckedDraft, "constraints" | "decisions" | "history" | "next" | "state">;

function textsOf({ constraints, decisions, history, next, state }: Texts): Said[] {
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

/** One by one: of a long text, only a sentence can speak against another. */
const sentencesOf = (text = ""): string[] =>
  text.split(/(?<=[.!?;])\s+|\n+/u).filter((sentence) => sentence.trim() !== "");

function against({ text: holds }: Holds, text: string): string | undefined {
  const { verdict, why } = judgeRecords({ content: holds }, { content: text });
  return verdict === "contradicts"
    ? line(`speaks against "${clip(holds, 400)}": ${why}`)
    : undefined;
}

/** As a word of its own: "Go" is not in "Going". */
function mentions(text: string, option: string): boolean {
  const [said, wanted] = [text.toLowerCase(), option.toLowerCase()];
  for (let at = said.indexOf(wanted); at >= 0; at = said.indexOf(wanted, at + 1)) {
    const around = [said[at - 1], said[at + wanted.length]];
    if (around.every((letter) => letter === undefined || !/[\p{L}\p{N}]/u.test(letter)))
      return true;
  }
  return false;
}
