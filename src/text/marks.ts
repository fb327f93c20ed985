/** The marks of fences, and the characters that look like them. */

/** A gap between two marks that a reader may overlook. */
const GAP = "[\\s\\p{Mn}]{0,8}";

/** One mark: a double or single angle quote, or a pair of less-than or greater-than signs. */
const markOf = (angles: string, signs: string): string =>
  `(?:[${angles}]|[${signs}]${GAP}[${signs}])`;
const OPENING = markOf("«≪《⟪⪡⋘‹❮❰〈⟨︽︿", "<＜﹤˂");
const CLOSING = markOf("»≫》⟫⪢⋙›❯❱〉⟩︾﹀", ">＞﹥˃");

const RUNS = new RegExp(`${OPENING}(?:${GAP}${OPENING})*|${CLOSING}(?:${GAP}${CLOSING})*`, "gu");
const CLOSING_RUNS = new RegExp(`${CLOSING}(?:${GAP}${CLOSING})*`, "gu");
const MARKS = new RegExp(`${OPENING}|${CLOSING}`, "gu");

/** Matches a text that begins with a mark. */
export const MARK_AT_START = new RegExp(`^(?:${OPENING}|${CLOSING})`, "u");
/** Matches a text that ends with a mark. */
export const MARK_AT_END = new RegExp(`(?:${OPENING}|${CLOSING})$`, "u");

/** Returns the number of marks in the longest run; 0 if there are none. */
export function longestRunOfMarks(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(RUNS)) {
    longest = Math.max(longest, run.match(MARKS)?.length ?? 0);
  }
  return longest;
}

/** The beginning of a fence's number, in any script, as far as it can be from the mark. */
const NUMBER = new RegExp(`^${GAP}\\p{Nd}{3}`, "u");
/** Two signs are common in code (`x >> 128`): only a number directly after them looks like a fence. */
const NUMBER_AFTER_SIGNS = /^\p{Nd}{3}/u;
const SIGNS_AT_END = /[>＞﹥˃]$/u;
const LONGEST_NUMBER = 8 + 2 * 3;

/** Escapes the closing marks of a text that have a number after them, as those of a fence have. */
export function escapeNumberedMarks(text: string): string {
  return text.replace(CLOSING_RUNS, (run, at: number) => {
    const after = text.slice(at + run.length, at + run.length + LONGEST_NUMBER);
    const number = SIGNS_AT_END.test(run) ? NUMBER_AFTER_SIGNS : NUMBER;
    if (!number.test(after)) return run;
    return run.replace(/[^\s\p{Mn}]/gu, escapeOf);
  });
}

/** Returns a character as its code: `\u{bb}`. */
export const escapeOf = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
