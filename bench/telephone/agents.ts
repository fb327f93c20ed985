/**
 * The stand-ins: agents that know only text in and text out. They lose what language models are
 * reported to lose when they pass on in their own words: the subtle constraint first, then what stands
 * late or in a subordinate clause, brackets, exact numbers; they shorten to a budget and put things in
 * another order. They take notes with the same eye, and redo what nobody told them is done. They know
 * nothing of any way of handing on, and nothing of what was planted.
 */
import type { Random } from "../../test/support/random.ts";
import { countTokens } from "./tokens.ts";

/** A sentence as a reader takes it in, and how much it stands out: 0 not at all, 1 in bold. */
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

/** `late`: how far into its paragraph it stands, from 0 to 1. */
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

/** The chance that a reader does not take a sentence up at all. About one in ten on the whole. */
const overlooked = (salience: number): number => Math.max(0.01, 0.32 - 0.36 * salience);

/**
 * A summary within a budget, in the agent's own words: what stands out most, in loose order. Each
 * time it is done again, something goes.
 */
export function summarise(sentences: readonly Sentence[], budget: number, random: Random): string {
  const kept = unique(sentences)
    .filter(({ salience }) => !random.chance(overlooked(salience)))
    .map(({ text, salience }) => ({ text: paraphrase(text, salience, random), salience }))
    .map((sentence) => ({ ...sentence, order: sentence.salience + 0.15 * random.next() }))
    .sort((a, b) => b.order - a.order);
  return within(
    kept.map(({ text }) => text),
    budget,
  ).join(" ");
}

/** Copies entries of a list by hand: half as much is overlooked as in prose, half as much is reworded. */
export function copyOut(entries: readonly string[], random: Random): string[] {
  return entries.flatMap((entry) => {
    const salience = salienceOf(entry, 0);
    if (random.chance(overlooked(salience) / 2)) return [];
    return [random.chance(0.5) ? entry : paraphrase(entry, salience, random)];
  });
}

/** The first that fit. */
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

/** Says it again: brackets go, now and then a reason, an exact number, a label. */
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

/** Something an agent wrote down because it seemed worth keeping. */
export interface Note {
  readonly text: string;
  readonly kind: "must" | "rule" | "decision" | "fact" | "failed" | "done" | "finding";
}

/**
 * What an attentive agent writes down: a note for each sentence it deems worth keeping. Labelled rules
 * always, other labelled things nearly always, things with a number, a name or a reason mostly; of what
 * is said in passing three in ten are missed; of small talk a few are kept for nothing.
 */
export function notes(texts: readonly string[], random: Random): Note[] {
  return texts.flatMap((text) =>
    sentencesOf(text)
      .filter(({ text: said }) => random.chance(worthNoting(said)))
      .map(({ text: said }) => ({ text: said.replace(HEDGED_START, ""), kind: noteKind(said) })),
  );
}

function worthNoting(text: string): number {
  if (/^(?:What I want|The goal|In one sentence|This is about one thing): /.test(text)) return 0; // The intent travels by itself.
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

/** Told by how it is said, as a reader would. */
const noteKind = (text: string): Note["kind"] =>
  KIND_CUES.find(([cue]) => cue.test(text))?.[1] ?? "fact";
