/**
 * Splits a text into words. The index, queries and the scan of records that are not indexed yet must split
 * alike; otherwise a record could be found before it is indexed and lost afterwards.
 */
const WORD = /[\p{L}\p{N}]+/gu;
/** Most texts are ASCII, and splitting those takes a third of the time. */
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9]+/g;
/** Boundaries within a compound name: validateToken, HTTPServer. */
const CASE_BOUNDARY = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const MIXED = /[a-z0-9][A-Z]|[A-Z][A-Z][a-z]/;
/** Scripts without spaces between words: single characters and pairs of characters serve as words. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const RUNS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+|[^\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
/** Longer words are keys and hashes; their beginning distinguishes them. */
const MAX_WORD_LENGTH = 64;

/**
 * Returns the words of a text in order, in lower case and without accents; a compound name follows its parts.
 */
export function wordsOf(text: string): string[] {
  const found: string[] = [];
  if (ASCII.test(text)) {
    for (const word of text.match(ASCII_WORD) ?? []) addWord(found, word);
    return found;
  }
  const plain = text.normalize("NFKD").replace(/\p{M}+/gu, "");
  for (const word of plain.match(WORD) ?? []) {
    if (!UNSPACED.test(word)) addWord(found, word);
    else for (const run of word.match(RUNS) ?? []) addRun(found, run);
  }
  return found;
}

function addWord(found: string[], word: string): void {
  if (word.length > MAX_WORD_LENGTH) found.push(word.slice(0, MAX_WORD_LENGTH).toLowerCase());
  else if (MIXED.test(word)) found.push(...partsOf(word), word.toLowerCase());
  else found.push(word.toLowerCase());
}

const partsOf = (name: string): string[] =>
  name.split(CASE_BOUNDARY).map((part) => part.toLowerCase());

/**
 * Adds each character and each pair of characters: a query of one or two characters is then found inside a
 * longer run, and a longer run by its pairs.
 */
function addRun(found: string[], run: string): void {
  if (!UNSPACED.test(run)) {
    addWord(found, run);
    return;
  }
  const characters = [...run];
  found.push(...characters);
  for (const [i, character] of characters.entries()) {
    const next = characters[i + 1];
    if (next !== undefined) found.push(character + next);
  }
}
