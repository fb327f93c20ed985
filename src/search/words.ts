/**
 * The words of a text, the same wherever one is split: what the index holds and what a query or a
 * scan of the not-yet-indexed records compares must agree, or a record could be found before it is
 * indexed and lost afterwards.
 */
const WORD = /[\p{L}\p{N}]+/gu;
/** Most texts are ASCII, and take a third of the time as such. */
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9]+/g;
/** Where a name is put together: validateToken, HTTPServer. */
const CASE_BOUNDARY = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const MIXED = /[a-z0-9][A-Z]|[A-Z][A-Z][a-z]/;
/** Scripts that put no space between words: characters and pairs of them stand in for words. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const RUNS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+|[^\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
/** Longer ones are keys and hashes: the beginning tells them apart. */
const MAX_WORD_LENGTH = 64;

/** Lower-case, without accents, in order of appearance; a put-together name after its parts. */
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

/** One or two characters are found inside a longer run, and a longer run by its pairs. */
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
