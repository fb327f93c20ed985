/** Reads fenced texts as a strict reader does: a fence ends only with its own marks and number. */

/** Returns a text without the numbers of its fences, for comparisons: `«a»` for `«a»472`. */
export const withoutNumbers = (text: string): string => text.replace(/»\d{3}/g, "»");

/** Returns the numbers of the fences of a text. */
export const numbersOf = (text: string): Set<string> =>
  new Set([...text.matchAll(/»(\d{3})/g)].flatMap(([, number]) => number ?? []));

/** Sentences that explain the fences with their number. */
const NOTICE = /Text between « and »(\d{3}|nnn) /g;

/** A text, split into what is in its fences and what is not. */
export interface ReadFences {
  readonly outside: string;
  readonly inside: readonly string[];
}

/** Splits a text by its fences. Throws if one is not closed, or with another number. */
export function readFences(answer: string): ReadFences {
  const [number = "000"] = numbersOf(answer);
  let rest = answer.replace(NOTICE, "");
  let outside = "";
  const inside: string[] = [];
  for (;;) {
    const opening = /«+/.exec(rest);
    if (opening === null) return { outside: outside + rest, inside };
    const [{ length }] = opening;
    outside += rest.slice(0, opening.index);
    const after = rest.slice(opening.index + length);
    const closing = new RegExp(`(?<!»)»{${length}}${number}`).exec(after);
    if (closing === null) throw new Error(`The fence ${opening[0]} is not closed: ${after}`);
    inside.push(after.slice(0, closing.index));
    rest = after.slice(closing.index + closing[0].length);
  }
}
