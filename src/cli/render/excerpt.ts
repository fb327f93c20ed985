/** Shortens a text to the part that matches a query, on one line, with the matched words highlighted. */
import { stem } from "../../search/terms.ts";
import { wordsOf } from "../../search/words.ts";
import { printable, styled } from "../terminal.ts";

const WORD = /[\p{L}\p{N}]+/gu;
/** Matches considered; with more, a good window is among the first. */
const MAX_MATCHES = 200;

/** Returns at most the given number of characters of the text, around most of the words. */
export function excerpt(text: string, words: readonly string[], mostLength: number): string {
  const plain = printable(text).replace(/\s+/g, " ").trim();
  const wanted = new Set(words.map(stem));
  const isWanted = (word: string): boolean => wordsOf(word).some((part) => wanted.has(stem(part)));
  const places = [...plain.matchAll(WORD)]
    .filter(([word]) => isWanted(word))
    .map(({ index }) => index);
  const { start, end } = windowOf(plain, places, mostLength);
  const shown = plain
    .slice(start, end)
    .replace(WORD, (word) => (isWanted(word) ? styled(["bold", "yellow"], word) : word));
  return `${start > 0 ? "…" : ""}${shown}${end < plain.length ? "…" : ""}`;
}

/** Finds the window with the most matches; it starts at the beginning of a word. */
function windowOf(
  text: string,
  places: readonly number[],
  maxLength: number,
): { readonly start: number; readonly end: number } {
  if (text.length <= maxLength) return { start: 0, end: text.length };
  let best = { count: -1, start: 0 };
  for (const place of places.length === 0 ? [0] : places.slice(0, MAX_MATCHES)) {
    const start = Math.max(0, place - Math.floor(maxLength / 4));
    const count = places.filter((each) => each >= start && each < start + maxLength).length;
    if (count > best.count) best = { count, start };
  }
  const space = best.start === 0 ? -1 : text.indexOf(" ", best.start);
  const start = space === -1 ? best.start : Math.min(space + 1, text.length - 1);
  return { start, end: Math.min(text.length, start + maxLength) };
}
