/**
 * Selects the passage to show with a search result: the sentences that contain most of the query's terms, at
 * most 240 characters.
 */
import { clip } from "../base/clip.ts";
import { termsOf } from "./terms.ts";

/** Maximum length in characters. */
export const PASSAGE_LENGTH = 240;

/** A line of a record, with the name of its field. */
export interface PassageLine {
  readonly field: string;
  readonly text: string;
}

interface Piece extends PassageLine {
  readonly at: number;
  readonly terms: ReadonlySet<string>;
}

const GAP = " … ";

/** Ends of sentences, and parts of overlong ones, split at spaces where possible. */
const SENTENCE_END = /\n+|(?<=[.!?;])\s+/u;
const PART = /.{1,180}(?:\s|$)|.{1,180}/gsu;

/** Returns the passage; undefined if none of the lines contains any of the terms. */
export function passageOf(
  lines: readonly PassageLine[],
  terms: readonly string[],
): string | undefined {
  const missing = new Set(terms);
  const chosen: Piece[] = [];
  const pieces = piecesOf(lines, missing);
  let left = PASSAGE_LENGTH;
  while (missing.size > 0) {
    const best = bestOf(pieces, missing);
    const takes = best === undefined ? 0 : shownOf(best).length + GAP.length;
    if (best === undefined || (chosen.length > 0 && takes > left)) break;
    chosen.push(best);
    left -= takes;
    for (const term of best.terms) missing.delete(term);
  }
  if (chosen.length === 0) return undefined;
  const inOrder = chosen.toSorted((a, b) => a.at - b.at).map(shownOf);
  return clip(inOrder.join(GAP), PASSAGE_LENGTH);
}

const shownOf = ({ field, text }: PassageLine): string => `${field}: ${text}`;

/** Returns the sentences that contain any of the terms. */
function piecesOf(lines: readonly PassageLine[], wanted: ReadonlySet<string>): Piece[] {
  const pieces: Piece[] = [];
  for (const { field, text } of lines) {
    for (const [part] of text
      .split(SENTENCE_END)
      .flatMap((sentence) => [...sentence.matchAll(PART)])) {
      const terms = new Set(termsOf(part).filter((term) => wanted.has(term)));
      if (terms.size > 0) pieces.push({ field, text: part.trim(), at: pieces.length, terms });
    }
  }
  return pieces;
}

/** Returns the piece that adds most missing terms; the first one in case of a tie. */
function bestOf(pieces: readonly Piece[], missing: ReadonlySet<string>): Piece | undefined {
  let [best, most]: [Piece | undefined, number] = [undefined, 0];
  for (const piece of pieces) {
    const adds = [...piece.terms].filter((term) => missing.has(term)).length;
    if (adds > most) [best, most] = [piece, adds];
  }
  return best;
}
