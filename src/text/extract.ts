/**
 * Shortens a text to some of its sentences: the first, and those that cover most of what the text is about.
 * Sentences with numbers, negations and identifiers score higher, because a paraphrase tends to lose those.
 * Deterministic; words are neither cut nor added.
 */
import { NEGATIONS } from "../search/opposites.ts";
import { termsOf } from "../search/terms.ts";
import { wordsOf } from "../search/words.ts";

const ELLIPSIS = " …";
/** Joins sentences that are not adjacent in the text. */
const GAP = " … ";
/** Later sentences are ignored: the first ones of a long text state what it is about. */
const MAX_SENTENCES = 400;

interface Sentence {
  readonly text: string;
  readonly at: number;
  readonly worth: number;
}

/** Returns at most `most` characters of whole sentences; ends in " …" if the end of the text was omitted. */
export function extract(text: string, most: number): string {
  const whole = text.trim();
  if (whole.length <= most) return whole;
  const texts = sentencesOf(whole);
  const [first] = texts;
  if (first === undefined || first.length + ELLIPSIS.length > most) return firstWords(whole, most);
  const chosen = selectSentences(scoreSentences(texts), most);
  const parts = chosen.map(({ text: each, at }, i) => {
    const before = chosen[i - 1];
    if (before === undefined) return each;
    return `${before.at + 1 === at ? "\n" : GAP}${each}`;
  });
  const last = chosen.at(-1);
  const isEnd = last !== undefined && last.at === texts.length - 1 && whole.endsWith(last.text);
  return `${parts.join("")}${isEnd ? "" : ELLIPSIS}`;
}

/** Selects the first sentence, then the highest-scoring ones that fit; returns them in text order. */
function selectSentences([first, ...others]: readonly Sentence[], most: number): Sentence[] {
  if (first === undefined) return [];
  const chosen = new Map([[first.text, first]]);
  let charactersLeft = most - ELLIPSIS.length - first.text.length;
  for (const each of others.toSorted((a, b) => b.worth - a.worth || a.at - b.at)) {
    const takes = each.text.length + GAP.length;
    if (takes > charactersLeft || chosen.has(each.text)) continue;
    chosen.set(each.text, each);
    charactersLeft -= takes;
  }
  return [...chosen.values()].sort((a, b) => a.at - b.at);
}

function sentencesOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?…]["')\]]{0,4})\s+|(?<=[。！？])/u, MAX_SENTENCES)
    .map((each) => each.trim())
    .filter((each) => /[\p{L}\p{N}]/u.test(each));
}

function scoreSentences(texts: readonly string[]): Sentence[] {
  const terms = texts.map((each) => new Set(termsOf(each)));
  const counts = new Map<string, number>();
  for (const each of terms) for (const term of each) counts.set(term, (counts.get(term) ?? 0) + 1);
  return texts.map((each, at) => ({ text: each, at, worth: scoreOf(each, terms[at], counts) }));
}

/**
 * Scores how much of the vocabulary shared with other sentences a sentence covers, relative to its length.
 */
function scoreOf(
  text: string,
  terms: ReadonlySet<string> = new Set(),
  said: ReadonlyMap<string, number>,
): number {
  let overlap = 0;
  for (const term of terms) overlap += Math.min((said.get(term) ?? 1) - 1, 4);
  const facts =
    (/\d/.test(text) ? 1 : 0) +
    (wordsOf(text).some((word) => NEGATIONS.has(word)) ? 1.5 : 0) +
    (/[a-z][A-Z]|[\w)]\(|\w[_./]\w|`/.test(text) ? 1 : 0);
  return (overlap + 2 * facts + 1) / Math.sqrt(terms.size + 4);
}

/**
 * Returns as many whole words from the beginning as fit into `most` characters; ends in " …" if words were
 * omitted.
 */
export function firstWords(text: string, most: number): string {
  if (text.length <= most) return text;
  const maxLength = most - ELLIPSIS.length;
  const head = text.slice(0, maxLength + 1);
  const space = lastGapIn(head);
  if (space > 0) return `${text.slice(0, space)}${ELLIPSIS}`;
  return `${cutAtWordBoundary(head.slice(0, maxLength))}${ELLIPSIS}`;
}

/** Returns where the last white space begins; 0 if there is none after the first character. */
function lastGapIn(head: string): number {
  let at = head.length;
  while (at > 0 && head.charAt(at - 1).trim() !== "") at--;
  return head.slice(0, at).trimEnd().length;
}

/** For a script without spaces, or a single word longer than the limit. */
function cutAtWordBoundary(head: string): string {
  const pieces = [...new Intl.Segmenter("en", { granularity: "word" }).segment(head)];
  const last = pieces.at(-1);
  if (last !== undefined && last.index > 0) return head.slice(0, last.index);
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head;
}
