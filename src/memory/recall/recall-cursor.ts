/**
 * The way from one page of an answer to the next: what was shown, and what the first page saw. The next
 * page is the best of the rest, so nothing comes twice and nothing is passed over, whatever happens to
 * the records in between. Made for one question: with another it is refused.
 */
import * as z from "zod";
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";

/** Whoever wants to see more than this asks another question. */
export const MAX_SHOWN_HITS = 1_000;

const Content = z.tuple([
  z.string(),
  z.int().min(0),
  z.int().min(0),
  z.array(z.int().min(0)).max(MAX_SHOWN_HITS),
]);

export interface RecallCursor {
  readonly fingerprint: string;
  readonly upTo: number;
  /** The time the question was asked. */
  readonly now: number;
  /** Positions. */
  readonly shown: readonly number[];
}

export function fingerprintOf(question: string, query: object): string {
  return sha256(JSON.stringify([question, query])).slice(0, 12);
}

export function formatCursor({ fingerprint, upTo, now, shown }: RecallCursor): string {
  const sorted = shown.toSorted((a, b) => a - b);
  // The distances are short numbers where the positions are long ones.
  const steps = sorted.map((pos, n) => pos - (sorted[n - 1] ?? 0));
  return Buffer.from(JSON.stringify([fingerprint, upTo, now, steps])).toString("base64url");
}

export function parseCursor(cursor: string, fingerprint: string): RecallCursor {
  const parsed = Content.safeParse(parse(Buffer.from(cursor, "base64url").toString()));
  if (!parsed.success) throw invalidCursor("It is no cursor of an answer.");
  const [made, upTo, now, steps] = parsed.data;
  if (made !== fingerprint) throw invalidCursor("It belongs to another question or other filters.");
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
    message: `The cursor cannot be used: ${message}`,
    path: "after",
    hint: "Pass the next of the page before, with the same question and the same filters.",
  });
}
