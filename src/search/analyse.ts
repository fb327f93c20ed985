/**
 * Analyses a record for the search index: its terms in order, split into passages of about sixty (a long
 * record ranks by its best passage), its labels, and what else the text alone shows.
 */
import { BODY_CLASS, weightClass } from "./bm25.ts";
import { hashOf, termsOf } from "./terms.ts";

/** Terms per passage. Longer passages dilute a match: 60 gains 3 points of recall on long messages. */
const PASSAGE = 60;
/** A tag counts as this many occurrences: it says more than a word in passing. */
export const LABEL_TIMES = 2;
/** Added to the length of a body passage; the remaining bits are the length. */
const BODY_FLAG = 0x8000_0000;
const LENGTH = 0x7fff_ffff;

/** The parts of a record that are searched. */
export interface TextToAnalyse {
  readonly content: string;
  /**
   * Other texts of the record (the fields and payload of a handoff, the outputs of a result), part by part.
   */
  readonly body?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly concepts?: readonly string[] | undefined;
}

/** What the index stores about a text. */
export interface Analysis {
  /** Hashes of the terms, packed (see unpackPassages). */
  readonly packed: Uint32Array;
  /** Each term prefixed with its weight class (bm25.ts), for the index. */
  readonly tokens: readonly string[];
  /** Passages and terms of the content only, so that bodies do not change the average passage length. */
  readonly passages: number;
  readonly length: number;
  /** True if the content ends with a question mark. */
  readonly isQuestion: boolean;
  /** True if the content mentions a time. */
  readonly mentionsTime: boolean;
}

/** Unpacked term hashes of a record. */
export interface Passages {
  /** Terms of the tags and concepts. */
  readonly labels: Uint32Array;
  /** Passages of the content, then of the body. */
  readonly passages: readonly Uint32Array[];
  readonly body: readonly Uint32Array[];
}

/** Analyses the text and labels of a record. */
export function analyse({ content, body = [], tags = [], concepts = [] }: TextToAnalyse): Analysis {
  const terms = termsOf(content);
  const labels = [...tags, ...concepts].flatMap(termsOf);
  const passages = splitIntoPassages(terms);
  const more = body
    .map(termsOf)
    .flatMap((part) => (part.length === 0 ? [] : splitIntoPassages(part)));
  return {
    packed: pack(labels, passages, more),
    tokens: tokensIn(labels, passages, more),
    passages: passages.length,
    length: terms.length,
    isQuestion: /[?？]\s*$/.test(content),
    mentionsTime: TIME.test(content),
  };
}

/** Expressions of time. */
const TIME =
  /\b(yesterday|today|tonight|tomorrow|ago|last|next|recently|soon|week|weekend|month|year|morning|evening|noon|midnight|mon|tues|wednes|thurs|fri|satur|sun)(day|s|ly)?\b|\b(january|february|march|april|june|july|august|september|october|november|december)\b|\b\d{4}-\d\d\b|\b\d{1,2}:\d\d\b/i;

/** A short remainder stays with the passage before it. */
function splitIntoPassages(terms: readonly string[]): string[][] {
  const count = Math.max(1, Math.round(terms.length / PASSAGE));
  const size = Math.ceil(terms.length / count);
  return Array.from({ length: count }, (_, n) => terms.slice(n * size, (n + 1) * size));
}

function tokensIn(
  labels: readonly string[],
  passages: readonly string[][],
  body: readonly string[][],
): string[] {
  const best = new Map<string, number>();
  for (const passage of passages) {
    const times = new Map<string, number>();
    for (const term of passage) times.set(term, (times.get(term) ?? 0) + 1);
    for (const label of labels) times.set(label, (times.get(label) ?? 0) + LABEL_TIMES);
    for (const [term, n] of times) {
      const found = weightClass(n, passage.length);
      if (found > (best.get(term) ?? -1)) best.set(term, found);
    }
  }
  for (const term of body.flat()) if (!best.has(term)) best.set(term, BODY_CLASS);
  return Array.from(best, ([term, weight]) => `${weight}${term}`);
}

/** Packs the labels, then each passage, each preceded by its length; body passages last, flagged. */
function pack(
  labels: readonly string[],
  passages: readonly string[][],
  body: readonly string[][],
): Uint32Array {
  const parts = [labels, ...passages, ...body];
  const packed = new Uint32Array(parts.reduce((size, part) => size + 1 + part.length, 0));
  let at = 0;
  for (const [n, part] of parts.entries()) {
    packed[at++] = part.length + (n > passages.length ? BODY_FLAG : 0);
    for (const term of part) packed[at++] = hashOf(term);
  }
  return packed;
}

/** Returns the number of terms of a passage, from its packed length. */
export const passageLength = (head: number): number => head & LENGTH;
/** Returns true if a packed length is that of a body passage. */
export const isBodyPassage = (head: number): boolean => head > LENGTH;

/** Splits packed terms into labels, content passages and body passages. */
export function unpackPassages(packed: Uint32Array): Passages {
  const parts: Uint32Array[] = [];
  const body: Uint32Array[] = [];
  for (let at = 0; at < packed.length; ) {
    const head = packed[at] as number;
    const length = passageLength(head);
    (isBodyPassage(head) ? body : parts).push(packed.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  const [labels = new Uint32Array(), ...passages] = parts;
  return { labels, passages, body };
}
