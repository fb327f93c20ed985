/**
 * Simulated agents with text input and text output only. They lose what language models are
 * reported to lose when they paraphrase: subtle constraints first, then content late in the text or
 * in a subordinate clause, brackets and exact numbers; they shorten to a budget and change the
 * order. They take notes by the same criteria, and repeat steps that are not reported as done. They
 * know neither the way of handing off nor which items were planted.
 */
import type { Random } from "../../test/support/random.ts";
import { countTokens } from "./tokens.ts";

/** A sentence and its salience, from 0 (inconspicuous) to 1 (emphasized). */
export interface Sentence {
  readonly text: string;
  readonly salience: number;
}

const LABEL =
  /^(?:MUST|Hard requirement|This is a must|Non-negotiable|Decision|Decided|Note|For the record|Already tried|Dead end|Done|Finding|Result|What I want|The goal|In one sentence|This is about one thing): /;
const HEDGE =
  /\b(?:by the way|oh, and|while I think of it|not that it should|it is probably|I think|reminded me|although|you may know|as far as I know|if I remember|for what it is worth|I should add|would rather|better not)\b/i;
const INFORMATIVE =
  /\d|\b(?:because|since|so that|instead of|not|no|never|only|cannot|without|every|always)\b|[a-z,] [A-Z][a-z]/;
const NOISE = /^(?:>|Thinking|Opened|Looked at|Waited|Read what|Copied)/;

const clamp = (value: number): number => Math.min(1, Math.max(0, value));

/** Returns the salience of a sentence. `late` is its position in the paragraph, from 0 to 1. */
export function salienceOf(text: string, late: number): number {
  const label = LABEL.test(text) ? 0.5 : 0;
  const informative = INFORMATIVE.test(text) ? 0.2 : 0;
  const hedged = HEDGE.test(text) || text.includes("(") ? 0.25 : 0;
  const subordinate = /, (?:so|since|because|although|which|and) /.test(text) ? 0.05 : 0;
  const noise = NOISE.test(text) ? 0.4 : 0;
  return clamp(0.4 + label + informative - hedged - subordinate - noise - 0.1 * late);
}

export function sentencesOf(text: string): Sentence[] {
  return text.split(/\n+/).flatMap((paragraph) => {
    const all = paragraph.split(/(?<=[.!?])\s+(?=[A-Z(>])/).filter((part) => part.trim() !== "");
    return all.map((said, n) => ({
      text: said.trim(),
      salience: salienceOf(said.trim(), n / all.length),
    }));
  });
}

/** Returns the probability that a reader misses a sentence; about one in ten on average. */
const missProbability = (salience: number): number => Math.max(0.01, 0.32 - 0.36 * salience);

/**
 * Summarizes sentences in other words within a token budget: the most salient ones, in roughly that
 * order. Every further summary of the result loses more.
 */
export function summarise(sentences: readonly Sentence[], budget: number, random: Random): string {
  const kept = unique(sentences)
    .filter(({ salience }) => !random.chance(missProbability(salience)))
    .map(({ text, salience }) => ({ text: paraphrase(text, salience, random), salience }))
    .map((sentence) => ({ ...sentence, order: sentence.salience + 0.15 * random.next() }))
    .sort((a, b) => b.order - a.order);
  return within(
    kept.map(({ text }) => text),
    budget,
  ).join(" ");
}

/** Copies the entries of a list: compared with prose, half as many are missed or reworded. */
export function copyOut(entries: readonly string[], random: Random): string[] {
  return entries.flatMap((entry) => {
    const salience = salienceOf(entry, 0);
    if (random.chance(missProbability(salience) / 2)) return [];
    return [random.chance(0.5) ? entry : paraphrase(entry, salience, random)];
  });
}

/** Returns the first texts that fit into the budget. */
export function within(texts: readonly string[], budget: number): string[] {
  const kept: string[] = [];
  let left = budget;
  for (const text of texts) {
    left -= countTokens(text) + 1;
    if (left < 0) break;
    kept.push(text);
  }
  return kept;
}

const unique = (all: readonly Sentence[]): Sentence[] => [
  ...new Map(all.map((sentence) => [sentence.text, sentence])).values(),
];

/** Paraphrases: drops brackets and, at random, a reason, an exact number or a label. */
function paraphrase(text: string, salience: number, random: Random): string {
  let said = text.replace(/ ?\([^()]*\)/g, "");
  if (random.chance(0.06 + 0.1 * (1 - salience))) {
    said = said.replace(/,? (?:because|since|so that|although|which|unless) [^.]*(?=\.|$)/, "");
  }
  if (random.chance(0.03)) said = said.replace(/\b\d+\b(?![:.]\d)/, "a number of");
  if (random.chance(0.04)) said = said.replace(LABEL, "");
  if (random.chance(0.3)) said = said.replace(HEDGED_START, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

const HEDGED_START =
  /^(?:By the way, |Oh, and |It is probably nothing, but |Not that it should matter much, but |As far as I know |For what it is worth, |I should add that |You will see that )/;

/** A note that an agent took. */
export interface Note {
  readonly text: string;
  readonly kind: "must" | "rule" | "decision" | "fact" | "failed" | "done" | "finding";
}

/**
 * Returns the notes of an attentive agent, one per sentence it considers important: labelled rules
 * always, other labelled sentences nearly always, sentences with a number, a name or a reason
 * mostly. It misses three in ten of the remarks made in passing, and notes a little of the small
 * talk.
 */
export function notes(texts: readonly string[], random: Random): Note[] {
  return texts.flatMap((text) =>
    sentencesOf(text)
      .filter(({ text: said }) => random.chance(worthNoting(said)))
      .map(({ text: said }) => ({ text: said.replace(HEDGED_START, ""), kind: noteKind(said) })),
  );
}

function worthNoting(text: string): number {
  // The intent is handed off separately.
  if (/^(?:What I want|The goal|In one sentence|This is about one thing): /.test(text)) return 0;
  if (/^(?:MUST|Hard requirement|This is a must|Non-negotiable|Done): /.test(text)) return 1;
  if (LABEL.test(text)) return 0.98;
  if (NOISE.test(text)) return 0.01;
  if (HEDGE.test(text) || text.includes("(")) return 0.7;
  return INFORMATIVE.test(text) ? 0.88 : 0.06;
}

const KIND_CUES: readonly [RegExp, Note["kind"]][] = [
  [/^(?:MUST|Hard requirement|This is a must|Non-negotiable): /, "must"],
  [/^Done: /, "done"],
  [/^(?:Finding|Result): /, "finding"],
  [/^(?:Already tried|Dead end): /, "failed"],
  [/^(?:Decision|Decided): /, "decision"],
  [/^(?:Note|For the record): /, "fact"],
  [/\b(?:tried|dropped|abandoned|failed|did not work|never again|made it worse|lost)\b/, "failed"],
  [/\b(?:chose|settled on|went with|decided|opted|because|since|so that)\b/, "decision"],
  [/\b(?:not|cannot|only|never|until|off limits|rather)\b/, "rule"],
];

/** Classifies a note by its wording. */
const noteKind = (text: string): Note["kind"] =>
  KIND_CUES.find(([cue]) => cue.test(text))?.[1] ?? "fact";
