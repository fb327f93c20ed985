/** Renders the results as text tables. */

import type { Goal, SearchFigures, WayFigures } from "./figures.ts";
import { KINDS } from "./frame.ts";
import type { Lost } from "./measure.ts";

export interface Report {
  readonly generator: string;
  readonly tasks: number;
  readonly items: number;
  readonly seed: number;
  /** Percentage of the items in the first agent's notes: the same for every way. */
  readonly noted: number;
  /** Percentage of the questions' content words that are in the answering sentence. */
  readonly wordsInCommon: number;
  readonly figures: readonly WayFigures[];
  /** Baton at the end of the line, by search alone. */
  readonly bySearch: SearchFigures;
  /** Baton at the end of the line, by one plain recall of the question (ten hits). */
  readonly byRecall: SearchFigures;
  readonly goals: readonly Goal[];
  readonly reasons: Readonly<Record<string, number>>;
  readonly lost: readonly Lost[];
}

/** Number of lost items that are listed. */
const SHOWN = 8;

export function tableOf(report: Report): string {
  const { tasks, items, seed, noted, wordsInCommon, figures, goals, reasons, lost } = report;
  const last = figures[0]?.places.at(-1)?.agent ?? 0;
  return [
    `${tasks} tasks of the ${report.generator} generator, ${items} items, seed ${seed}; the first agent noted ${noted.toFixed(1)} % of the items;`,
    `${wordsInCommon.toFixed(1)} % of the words of a question are in its answer`,
    ...figures.flatMap(wayTable),
    "",
    `obtainable at agent ${last}, %`.padEnd(28) +
      KINDS.map((kind) => kind.padStart(10)).join("") +
      ["near", "far", "labelled", "no label"].map((name) => name.padStart(10)).join(""),
    ...figures.map(
      ({ way, kinds, near, far, labelled, unlabelled }) =>
        way.padEnd(28) +
        [...KINDS.map((kind) => kinds[kind]), near, far, labelled, unlabelled].map(one).join(""),
    ),
    "",
    `Baton at agent ${last} by search alone: ${searchText(report.bySearch)}`,
    `Baton at agent ${last} by one plain recall: ${searchText(report.byRecall)}`,
    "",
    ...goals.map(({ goal, value, met }) => `${met ? "met   " : "MISSED"} ${goal}: ${value}`),
    ...(lost.length === 0
      ? []
      : ["", `items that Baton lost at agent ${last} (${lost.length} of ${items}):`]),
    ...Object.entries(reasons).map(([reason, count]) => `${String(count).padStart(6)}  ${reason}`),
    ...lost
      .slice(0, SHOWN)
      .map(({ sentence, probe, why }) => `        ${probe} (${why})\n            ${sentence}`),
    "",
  ].join("\n");
}

const searchText = ({ all, near, far }: SearchFigures): string =>
  `${all.toFixed(1)} % (near ${near.toFixed(1)}, far ${far.toFixed(1)})`;

const one = (value: number): string => value.toFixed(1).padStart(10);

function wayTable({ way, places }: WayFigures): string[] {
  const head = [
    "in context",
    "obtainable",
    "musts",
    "intent",
    "tokens",
    "total",
    "repeated",
    "total",
  ];
  return [
    "",
    way.padEnd(18) + head.map((name) => name.padStart(11)).join(""),
    ...places.map((place) => {
      const shares = [place.front, place.obtainable, place.musts, place.intent];
      const tokens = [place.tokens, place.totalTokens].map((value) => value.toFixed(0));
      const again = [place.again, place.totalAgain].map((value) => value.toFixed(2));
      return [`  agent ${place.agent}`.padEnd(18)]
        .concat(
          [...shares.map((value) => `${value.toFixed(1)} %`), ...tokens, ...again].map((cell) =>
            cell.padStart(11),
          ),
        )
        .join("");
    }),
  ];
}
