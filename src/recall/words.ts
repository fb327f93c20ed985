/**
 * The words of a text, the same wherever one is split: what the index holds and what a query or a
 * scan of the not-yet-indexed records compares must agree, or a record could be found before it is
 * indexed and lost afterwards.
 */
const WORD = /[\p{L}\p{N}]+/gu;
const ASCII = /^[\x20-\x7e\s]*$/;
/** Where a name is put together: validateToken, HTTPServer. */
const SEAM = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const MIXED = /[a-z0-9][A-Z]|[A-Z][A-Z][a-z]/;
/** Scripts that put no space between words: pairs of characters stand in for them. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
/** Longer ones are keys and hashes: the beginning tells them apart. */
const LONGEST = 64;

/** Lower-case, without accents, in order of appearance; a put-together name after its parts. */
export function wordsOf(text: string): string[] {
  const plain = ASCII.test(text) ? text : text.normalize("NFKD").replace(/\p{M}+/gu, "");
  const found: string[] = [];
  for (const word of plain.match(WORD) ?? []) {
    if (word.length > LONGEST) found.push(word.slice(0, LONGEST).toLowerCase());
    else if (MIXED.test(word)) found.push(...partsOf(word), word.toLowerCase());
    else if (UNSPACED.test(word)) found.push(...pairsOf(word));
    else found.push(word.toLowerCase());
  }
  return found;
}

const partsOf = (name: string): string[] => name.split(SEAM).map((part) => part.toLowerCase());

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length < 3) return [run];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
