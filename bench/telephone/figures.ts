/** Aggregates the results: by way, position on the line and kind, losses by reason, and goals. */
import { KINDS, type Kind } from "./frame.ts";
import type { Lost, Searched, Seen } from "./measure.ts";
import type { Item, Task } from "./tasks.ts";

/** Results at one position of the line. Shares are percentages; tokens and steps are means. */
export interface Place {
  readonly agent: number;
  /** Share of the planted items in this agent's context, and of those it can obtain. */
  readonly front: number;
  readonly obtainable: number;
  /** Share of the labelled musts, and of the intents, in this agent's context. */
  readonly musts: number;
  readonly intent: number;
  /** Tokens in this agent's context, and in total up to this agent. */
  readonly tokens: number;
  readonly totalTokens: number;
  /** Steps that this agent repeated, and in total up to this agent. */
  readonly again: number;
  readonly totalAgain: number;
}

export interface WayFigures {
  readonly way: string;
  readonly places: readonly Place[];
  /** Obtainable at the end of the line, by kind of item. */
  readonly kinds: Readonly<Record<Kind, number>>;
  readonly near: number;
  readonly far: number;
  readonly labelled: number;
  readonly unlabelled: number;
}

export interface Goal {
  readonly goal: string;
  readonly value: string;
  readonly met: boolean;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const share = (flags: readonly boolean[]): number => 100 * mean(flags.map(Number));

export function figuresOf(tasks: readonly Task[], seen: readonly Seen[]): WayFigures[] {
  const items = new Map(tasks.map((task) => [task.name, task.items]));
  const itemOf = ({ task }: Seen, n: number): Item => items.get(task)?.[n] as Item;
  return [...Map.groupBy(seen, ({ way }) => way)].map(([way, own]) => {
    const places = placesOf(own, itemOf);
    const last = own.filter(({ agent }) => agent === places.at(-1)?.agent);
    const having = (has: (item: Item) => boolean): number =>
      share(last.flatMap((each) => each.obtained.filter((_, n) => has(itemOf(each, n)))));
    const kinds = KINDS.map((kind) => [kind, having((item) => item.kind === kind)]);
    return {
      way,
      places,
      kinds: Object.fromEntries(kinds) as Record<Kind, number>,
      near: having(({ asked }) => asked === "near"),
      far: having(({ asked }) => asked === "far"),
      labelled: having(({ labelled }) => labelled),
      unlabelled: having(({ labelled }) => !labelled),
    };
  });
}

function placesOf(own: readonly Seen[], itemOf: (seen: Seen, n: number) => Item): Place[] {
  let [totalTokens, totalAgain] = [0, 0];
  const byAgent = [...Map.groupBy(own, ({ agent }) => agent)].sort(([a], [b]) => a - b);
  return byAgent.map(([agent, here]) => {
    const tokens = mean(here.map((each) => each.tokens));
    const again = mean(here.map((each) => each.again));
    totalTokens += tokens;
    totalAgain += again;
    return {
      agent,
      front: share(here.flatMap(({ front }) => front)),
      obtainable: share(here.flatMap(({ obtained }) => obtained)),
      musts: share(
        here.flatMap((each) => each.front.filter((_, n) => itemOf(each, n).kind === "must")),
      ),
      intent: share(here.map(({ intent }) => intent)),
      tokens,
      totalTokens,
      again,
      totalAgain,
    };
  });
}

const at = (figures: WayFigures | undefined, agent: number): Place | undefined =>
  figures?.places.find((place) => place.agent === agent);

/** Returns the goals for Baton at the end of the line that a line of this length can measure. */
export function goalsOf(figures: readonly WayFigures[]): Goal[] {
  const baton = figures.find(({ way }) => way === "Baton");
  const prompt = figures.find(({ way }) => way === "prompt passing");
  const last = baton?.places.at(-1);
  if (baton === undefined || prompt === undefined || last === undefined) return [];
  const others = figures.filter(({ way }) => way !== "Baton");
  const best = others.reduce((a, b) => (obtainable(b) > obtainable(a) ? b : a));
  const lead = last.obtainable - obtainable(best);
  const flat = last.tokens / (at(baton, 2)?.tokens ?? Number.NaN);
  const goals = [
    goal("labelled musts in the last agent's context, 100 %", last.musts, (x) => x === 100, "%"),
    goal("the intent in the last agent's context, 100 %", last.intent, (x) => x === 100, "%"),
    goal("planted items obtainable, at least 95 %", last.obtainable, (x) => x >= 95, "%"),
    goal(
      `percentage points above the best other way (${best.way}), at least 20`,
      lead,
      (x) => x >= 20,
      "",
    ),
    goal(`tokens at agent ${last.agent} ÷ at agent 2, at most 1.1`, flat, (x) => x <= 1.1, "×"),
  ];
  for (const [agent, most] of [
    [4, 25],
    [12, 10],
  ] as const) {
    const [own, all] = [at(baton, agent), at(prompt, agent)];
    if (own === undefined || all === undefined) continue;
    const part = (100 * own.totalTokens) / all.totalTokens;
    const name = `total tokens of a line of ${agent}, relative to prompt passing, at most ${most} %`;
    goals.push(goal(name, part, (x) => x <= most, "%"));
  }
  return goals;
}

const obtainable = (figures: WayFigures): number => figures.places.at(-1)?.obtainable ?? 0;

function goal(name: string, value: number, met: (value: number) => boolean, unit: string): Goal {
  return { goal: name, value: `${value.toFixed(3)}${unit && ` ${unit}`}`, met: met(value) };
}

/** Share found by search: of all items, and by type of question. */
export interface SearchFigures {
  readonly all: number;
  readonly near: number;
  readonly far: number;
}

export function searchFiguresOf(
  searched: readonly Searched[],
  by: "obtained" | "recalled",
): SearchFigures {
  const of = (...manners: Searched["asked"][]): number =>
    share(searched.filter(({ asked }) => manners.includes(asked)).map((each) => each[by]));
  return { all: of("near", "far"), near: of("near"), far: of("far") };
}

/** Counts lost items by reason. */
export function reasonsOf(lost: readonly Lost[]): Record<string, number> {
  const reasons = lost.map(({ noted, why }) => {
    const note = noted ? "noted by the first agent" : "not noted by the first agent, in the thread";
    return `${note}; ${why.startsWith("found") ? "recalled, but beyond what may be read" : "not recalled"}`;
  });
  const groups = [...Map.groupBy(reasons, (reason) => reason)];
  return Object.fromEntries(
    groups.map(([reason, all]) => [reason, all.length] as const).sort((a, b) => b[1] - a[1]),
  );
}
