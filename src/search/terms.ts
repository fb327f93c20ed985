/**
 * Terms: the normalised words by which texts and queries are compared. Inflections are removed ("chose",
 * "choosing" and "choose" are one term), and stop words are dropped.
 */
import { stemmer } from "stemmer";
import { GenerationalCache } from "../base/generational-cache.ts";
import { BASE_FORMS } from "./irregular-forms.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { wordsOf } from "./words.ts";

/** Stemming takes a microsecond, and a team uses the same words all day. */
const stems = new GenerationalCache<string, string>(50_000);

/** Returns the stem of a lower-case word; words with digits stay as they are. */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const base = BASE_FORMS.get(word) ?? word;
  const term = /\d/.test(base) ? base : stemmer(base);
  stems.set(word, term);
  return term;
}

/** Returns the terms of a text, in order. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const word of wordsOf(text)) if (!STOP_WORDS.has(word)) terms.push(stem(word));
  return terms;
}

/** Returns a 32-bit hash of a term (FNV-1a), for comparing thousands of terms. */
export function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < term.length; i++) {
    hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}
