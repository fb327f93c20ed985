/** Labelled pairs of notes (known-pairs.txt), and the precision and recall of verdicts on them. */
import { readFileSync } from "node:fs";
import type { Verdict } from "../../src/search/duplicate-detection.ts";

export const VERDICTS = ["same", "contradicts", "other"] as const satisfies readonly Verdict[];

export interface Pair {
  /** Counted from 1; odd pairs are for tuning, even ones are held out. */
  readonly number: number;
  readonly verdict: Verdict;
  readonly known: string;
  readonly said: string;
}

const FILE = new URL("./known-pairs.txt", import.meta.url);

export function pairs(): Pair[] {
  return readFileSync(FILE, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line, n) => {
      const [verdict = "", known = "", said = ""] = line.split(" | ");
      if (!VERDICTS.includes(verdict as Verdict) || said === "")
        throw new Error(`bad line: ${line}`);
      return { number: n + 1, verdict: verdict as Verdict, known, said };
    });
}

export const heldOut = (): Pair[] => pairs().filter(({ number }) => number % 2 === 0);
export const forTuning = (): Pair[] => pairs().filter(({ number }) => number % 2 === 1);

export interface Figures {
  readonly precision: number;
  readonly recall: number;
}

export type Answer = readonly [truth: Verdict, answer: Verdict];

export function figuresOf(answers: readonly Answer[], verdict: Verdict): Figures {
  const right = answers.filter(([truth, answer]) => truth === verdict && answer === verdict).length;
  const given = answers.filter(([, answer]) => answer === verdict).length;
  const due = answers.filter(([truth]) => truth === verdict).length;
  return { precision: right / given, recall: right / due };
}

export function table(name: string, answers: readonly Answer[]): string {
  const lines = VERDICTS.map((verdict) => {
    const { precision, recall } = figuresOf(answers, verdict);
    return `  ${verdict.padEnd(12)} precision ${precision.toFixed(3)}  recall ${recall.toFixed(3)}`;
  });
  return [`${name}, ${answers.length} pairs`, ...lines].join("\n");
}
