/**
 * The words of a text, the same for every store: what the index holds and what a scan of the
 * not-yet-indexed records compares must agree, or a record could be found before it is indexed
 * and lost afterwards.
 */
const WORD = /[\p{L}\p{N}]+/gu;
const ASCII = /^[\x20-\x7e\s]*$/;

/** Lower-case, without accents, in order of appearance. */
export function wordsOf(text: string): string[] {
  const plain = ASCII.test(text) ? text : text.normalize("NFKD").replace(/\p{M}+/gu, "");
  return plain.toLowerCase().match(WORD) ?? [];
}
