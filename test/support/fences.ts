/** Reads fenced texts as a strict reader does: a fence ends only with its own marks and number. */

/** Returns a text without the numbers of its fences, for comparisons: `«a»` for `«472 a»472`. */
export const withoutNumbers = (text: string): string =>
  text.replace(/(«+)\d{3} ?/g, "$1").replace(/(»+)\d{3}/g, "$1");

/** Returns the numbers of the fences of a text. */
export const numbersOf = (text: string): Set<string> =>
  new Set([...text.matchAll(/[«»](\d{3})/g)].flatMap(([, number]) => number ?? []));

/** Sentences that explain the fences with their number. */
const NOTICE = /Text between «(\d{3}|nnn) and »\1 /g;

/** A text, split into what is in its fences and what is not. */
export interface ReadFences {
  readonly outside: string;
  readonly inside: readonly string[];
}

/** Splits a text by its fences. Throws if one is not closed. */
export function readFences(answer: string): ReadFences {
  let rest = answer.replace(NOTICE, "");
  let outside = "";
  const inside: string[] = [];
  for (;;) {
    const opening = /(«+)(\d{3})(?=[ \n])/.exec(rest);
    if (opening === null) return { outside: outside + rest, inside };
    const [marks, { length }, number] = [opening[0], opening[1] ?? "", opening[2] ?? ""] as const;
    outside += rest.slice(0, opening.index);
    const after = rest.slice(opening.index + marks.length);
    const closing = new RegExp(`(?<!»)»{${length}}${number}`).exec(after);
    if (closing === null) throw new Error(`The fence ${marks} is not closed: ${after}`);
    inside.push(after.slice(0, closing.index));
    rest = after.slice(closing.index + closing[0].length);
  }
}
