/**
 * Formats and parses the cursor between pages of a recall. It contains the hits shown so far and the state
 * the first page was based on. The next page has the best of the remaining hits, so no hit is repeated or
 * skipped, even if records change in between. A cursor is only valid for the same question and filters.
 */
import * as z from "zod";
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";

/** The most hits that paging can return; a more specific question is better than reading on. */
export const MAX_SHOWN_HITS = 1_000;

const Content = z.tuple([
  z.string(),
  z.int().min(0),
  z.int().min(0),
  z.array(z.int().min(0)).max(MAX_SHOWN_HITS),
]);

/** The content of a cursor. */
export interface RecallCursor {
  /** Identifies the question and filters. */
  readonly fingerprint: string;
  /** The last position that the first page searched. */
  readonly upTo: number;
  /** When the question was asked, in ms since the epoch. */
  readonly now: number;
  /** The positions of the hits shown so far. */
  readonly shown: readonly number[];
}

/** Returns the fingerprint of a question and its filters. */
export function fingerprintOf(question: string, query: object): string {
  return sha256(JSON.stringify([question, query])).slice(0, 12);
}

/** Encodes a cursor. */
export function formatCursor({ fingerprint, upTo, now, shown }: RecallCursor): string {
  const sorted = shown.toSorted((a, b) => a - b);
  // Differences are stored, because they are shorter than positions.
  const steps = sorted.map((pos, n) => pos - (sorted[n - 1] ?? 0));
  return Buffer.from(JSON.stringify([fingerprint, upTo, now, steps])).toString("base64url");
}

/** Decodes a cursor. Throws `invalid_input` if it is malformed or belongs to another question. */
export function parseCursor(cursor: string, fingerprint: string): RecallCursor {
  const parsed = Content.safeParse(parse(Buffer.from(cursor, "base64url").toString()));
  if (!parsed.success) throw invalidCursor("it is malformed");
  const [made, upTo, now, steps] = parsed.data;
  if (made !== fingerprint) throw invalidCursor("it belongs to another question or other filters");
  let pos = 0;
  const shown = steps.map((step) => {
    pos += step;
    return pos;
  });
  return { fingerprint, upTo, now, shown };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalidCursor(message: string): BatonError {
  return new BatonError("invalid_input", {
    message: `Invalid cursor: ${message}.`,
    path: "after",
    hint: "Pass next of the previous page, with the same question and filters.",
  });
}
