/**
 * Parses a query once: terms in order, the dates it names, words that may be an author's name, and whether it
 * asks for a time. Plain data, so that it can be sent to the thread or database that answers it.
 */
import { STOP_WORDS } from "./stop-words.ts";
import { hashOf, stem } from "./terms.ts";
import { wordsOf } from "./words.ts";

/** One term of a query. */
export interface QueryTerm {
  readonly term: string;
  readonly hash: number;
  /** The word as it was written in the query. */
  readonly word: string;
  /** 1 for a word of the query; less for a word similar in meaning. */
  readonly weight: number;
  /** Index of the word it stands for: its own index, except for a similar word. */
  readonly of: number;
}

/** A parsed query. */
export interface Query {
  /** Distinct terms in query order, followed by words similar in meaning. */
  readonly terms: readonly QueryTerm[];
  /** Adjacent terms of the query, by their indexes in `terms`. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Days, months and years: `y2026`, `m5`, `d7`. */
  readonly dates: readonly string[];
  /** Words that could be the author's name. */
  readonly names: readonly string[];
  /** True if the query asks for a time. */
  readonly asksWhen: boolean;
}

/** A word similar in meaning to a word of the query. */
export interface SimilarWord {
  readonly word: string;
  readonly similarity: number;
}

/** Maximum number of terms, each of which is a lookup; a longer query is reduced to its longest words. */
export const MAX_TERMS = 64;
/** Similar words per word, and in total: more do not find more, and each is a lookup. */
const EXPANSIONS_PER_WORD = 3;
const MAX_EXPANSIONS = 12;

const WHEN =
  /^\s*when\b|\bhow (long|often|recently)\b|\b(what|which) (date|day|month|year|time|week)/i;

/** Parses a query. `nearest` returns words similar in meaning (default: none). */
export function queryOf(
  text: string,
  nearest: (word: string) => readonly SimilarWord[] = () => [],
): Query {
  const words = wordsOf(text);
  const terms: QueryTerm[] = [];
  const places = new Map<string, number>();
  const add = (word: string, weight: number, of = terms.length): number => {
    const term = stem(word);
    const known = places.get(term);
    if (known !== undefined) return known;
    places.set(term, terms.length);
    return terms.push({ term, hash: hashOf(term), word, weight, of }) - 1;
  };
  const rarest = selectRarestWords(words.filter((word) => !STOP_WORDS.has(word)));
  const order = rarest.map((word) => add(word, 1));
  const asked = terms.length;
  for (const [n, word] of rarest.entries()) {
    for (const { word: other, similarity } of nearest(word).slice(0, EXPANSIONS_PER_WORD)) {
      if (terms.length - asked === MAX_EXPANSIONS) break;
      if (!STOP_WORDS.has(other)) add(other, similarity, order[n]);
    }
  }
  return {
    terms,
    pairs: pairsOf(order),
    dates: datesIn(text),
    names: [...new Set(rarest)],
    asksWhen: WHEN.test(text),
  };
}

/** Reduces a query as long as a page to its longest words, in query order: rare words tend to be long. */
function selectRarestWords(words: readonly string[]): readonly string[] {
  const distinct = [...new Set(words)];
  if (distinct.length <= MAX_TERMS) return words;
  const kept = new Set(distinct.toSorted((a, b) => b.length - a.length).slice(0, MAX_TERMS));
  return words.filter((word) => kept.has(word));
}

function pairsOf(order: readonly number[]): [number, number][] {
  const pairs: [number, number][] = [];
  for (const [n, place] of order.entries()) {
    const next = order[n + 1];
    if (next !== undefined && next !== place) pairs.push([place, next]);
  }
  return pairs;
}

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];

/** Returns the dates in a text. A day counts only together with a month: a bare number is not a date. */
function datesIn(text: string): string[] {
  const lower = text.toLowerCase();
  const found = new Set<string>();
  for (const [, year] of lower.matchAll(/\b((?:19|20)\d\d)\b/g)) found.add(`y${year}`);
  for (const [n, month] of MONTHS.entries()) {
    // "may" is a verb more often than a month, so it needs a number or a preposition beside it.
    const form =
      month === "may"
        ? /\bmay,? \d|\d(st|nd|rd|th)?( of)? may\b|\b(in|of|since|until|by|last|next) may\b/
        : new RegExp(
            `\\b${month}\\b|\\b${month.slice(0, 3)}t?\\.? \\d|\\d(st|nd|rd|th)? ${month.slice(0, 3)}t?\\b`,
          );
    if (form.test(lower)) found.add(`m${n + 1}`);
  }
  for (const [, year, month, day] of lower.matchAll(/\b(\d{4})-(\d\d)(?:-(\d\d))?\b/g)) {
    found.add(`y${year}`).add(`m${Number(month)}`);
    if (day !== undefined) found.add(`d${Number(day)}`);
  }
  if ([...found].some((date) => date.startsWith("m"))) {
    const rest = lower.replace(/\b\d{4}-\d\d(-\d\d)?\b/g, "");
    for (const [, day] of rest.matchAll(/\b(\d{1,2})(?:st|nd|rd|th)?\b(?!:)/g)) {
      if (Number(day) >= 1 && Number(day) <= 31) found.add(`d${Number(day)}`);
    }
  }
  return [...found];
}

/** Returns the dates of a time, in the form that queries use. */
export function datesOf(time: number): readonly [year: string, month: string, day: string] {
  const date = new Date(time);
  return [`y${date.getUTCFullYear()}`, `m${date.getUTCMonth() + 1}`, `d${date.getUTCDate()}`];
}
