/**
 * The words of a text, the same for every store: what the index holds and what a scan of the
 * not-yet-indexed records compares must agree, or a record could be found before it is indexed
 * and lost afterwards.
 */
import type { MemoryRow } from "./rows.ts";

const WORD = /[\p{L}\p{N}]+/gu;
const ASCII = /^[\x20-\x7e\s]*$/;

/** Lower-case, without accents, in order of appearance. */
export function wordsOf(text: string): string[] {
  const plain = ASCII.test(text) ? text : text.normalize("NFKD").replace(/\p{M}+/gu, "");
  return plain.toLowerCase().match(WORD) ?? [];
}

interface Findable {
  readonly content: string;
  readonly tags?: readonly string[];
  readonly concepts?: readonly string[];
}

/** What of a memory can be found by words, and its tags. */
export function findableText(row: Pick<MemoryRow, "text">): {
  text: string;
  tags: readonly string[];
} {
  const { content, tags = [], concepts = [] } = JSON.parse(row.text) as Findable;
  return { text: [content, ...tags, ...concepts].join("\n"), tags };
}
