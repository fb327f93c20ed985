/** One run: generates the tasks of a seed and passes them along a line in every way. */
import { figuresOf, goalsOf, reasonsOf, searchFiguresOf } from "./figures.ts";
import { type Played, play } from "./measure.ts";
import type { Report } from "./report.ts";
import { secondTaskOf } from "./second/generator.ts";
import { mentions, type Task, taskOf } from "./tasks.ts";
import { baton } from "./ways/baton.ts";
import { jsonMessage } from "./ways/json.ts";
import { promptPassing } from "./ways/prompt.ts";
import { sharedFile } from "./ways/shared-file.ts";
import { summaryPassing } from "./ways/summary.ts";
import { sessionOf } from "./work.ts";

export interface RunOptions {
  readonly tasks: number;
  /** Agents on the longest line. */
  readonly agents: number;
  readonly seed: number;
  readonly generator: Generator;
}

/** The task generators; the second has different domains and sentences. */
export const GENERATORS = { first: taskOf, second: secondTaskOf } as const;

export type Generator = keyof typeof GENERATORS;

/** Concurrent tasks: while one waits for the disk, another can compute. */
const AT_ONCE = 3;

export async function run(
  file: string,
  { tasks: count, agents, seed, generator }: RunOptions,
  progress: (text: string) => void = () => {},
): Promise<Report> {
  const ways = [promptPassing, summaryPassing, sharedFile, jsonMessage, baton(file)];
  const tasks = Array.from({ length: count }, (_, n) => GENERATORS[generator](seed, n));
  const played: Played[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < tasks.length) {
        const n = next++;
        played[n] = await play(tasks[n] as Task, ways, agents);
        progress(`${next} of ${count} tasks`);
      }
    }),
  );
  const lost = played.flatMap((each) => each.lost);
  const searched = played.flatMap((each) => each.searched);
  const figures = figuresOf(
    tasks,
    played.flatMap((each) => each.seen),
  );
  return {
    generator,
    tasks: count,
    items: tasks.reduce((sum, { items }) => sum + items.length, 0),
    seed,
    noted: noted(tasks),
    wordsInCommon: wordsInCommon(tasks),
    figures,
    bySearch: searchFiguresOf(searched, "obtained"),
    byRecall: searchFiguresOf(searched, "recalled"),
    goals: goalsOf(figures),
    reasons: reasonsOf(lost),
    lost,
  };
}

function noted(tasks: readonly Task[]): number {
  const all = tasks.flatMap((task) => {
    const { notes } = sessionOf(task, 1);
    return task.items.map(({ key }) => notes.some(({ text }) => mentions(text, key)));
  });
  return (100 * all.filter(Boolean).length) / all.length;
}

/** Returns the percentage of the questions' content words (stemmed) that are in their answers. */
export function wordsInCommon(tasks: readonly Task[]): number {
  const counts = tasks.flatMap(({ items }) =>
    items.map(({ probe, sentence }) => {
      const answerWords = new Set(contentWords(sentence));
      const questionWords = contentWords(probe);
      return [
        questionWords.filter((word) => answerWords.has(word)).length,
        questionWords.length,
      ] as const;
    }),
  );
  const sum = (n: 0 | 1): number => counts.reduce((all, each) => all + each[n], 0);
  return (100 * sum(0)) / sum(1);
}

function contentWords(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return [...new Set(words.filter((word) => !EMPTY.has(word)).map(stem))];
}

const stem = (word: string): string => word.replace(/(?:ing|ed|es|s)$/, "");

const EMPTY = new Set(
  "the and for are was were what which who whom whose how why when where does did has have had that this there they them with from into out our its not any can may must should would could been being about one".split(
    " ",
  ),
);
