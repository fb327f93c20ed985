/**
 * Meaning without a model: a table of 60,000 English words, each with a vector and a weight
 * (src/search/embedding/PROVENANCE.md says where they come from). A text's vector is the weighted sum of its
 * words', scaled to length one: hundredths of a millisecond a sentence, no download, no server, no
 * thread. It knows synonyms and topics; it does not know word order, negation or other languages.
 *
 * Words are looked up by hashing the text's characters where they stand, without making strings.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { BatonError } from "../../base/errors.ts";
import { type Embedder, toUnit } from "./embedder.ts";
import { HASH_START, hashStep, readWordFile, slotOf, type WordFile } from "./word-file.ts";

/** Raised when the same table would give other vectors, because texts are read differently. */
const EDITION = 1;

export interface Neighbour {
  readonly word: string;
  /** The cosine between the two words' vectors. */
  readonly similarity: number;
}

export class WordVectors implements Embedder {
  readonly model: string;
  readonly dimensions: number;
  readonly balanced = true;
  readonly isLocal = true;
  readonly longest: number = Number.MAX_SAFE_INTEGER;
  readonly #file: WordFile;
  readonly #sum: Float64Array;

  /** The file's bytes; as a SharedArrayBuffer they serve any number of threads. */
  readonly data: ArrayBufferLike;

  constructor(data: ArrayBufferLike) {
    this.data = data;
    this.#file = readWordFile(data);
    this.dimensions = this.#file.dimensions;
    this.#sum = new Float64Array(this.dimensions);
    const digest = this.#file.digest.toString(16).padStart(8, "0");
    this.model = `words-${EDITION}-${digest}`;
  }

  async embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return texts.map((text) => this.vectorOf(text));
  }

  /** The same for one text, at once. */
  vectorOf(text: string): Float32Array {
    this.#sum.fill(0);
    this.#eachWord(stripAccents(text), (word) => this.#add(word));
    return toUnit(Float32Array.from(this.#sum));
  }

  /** Whether the table knows the word as it stands. */
  has(word: string): boolean {
    return this.#find(word, 0, word.length) !== -1;
  }

  /**
   * The words nearest in meaning, nearest first; inflections of the word itself are left out. A
   * word the table does not know has none.
   */
  neighboursOf(word: string): readonly Neighbour[] {
    const text = stripAccents(word);
    const position = this.#find(text, 0, text.length);
    if (position === -1) return [];
    const { neighbours, near, similarities } = this.#file;
    const found: Neighbour[] = [];
    for (let i = position * neighbours; i < (position + 1) * neighbours; i++) {
      const other = near[i] as number;
      if (other === 0) break;
      found.push({ word: this.#wordAt(other - 1), similarity: (similarities[i] as number) / 255 });
    }
    return found;
  }

  #wordAt(position: number): string {
    const { starts, text } = this.#file;
    let word = "";
    for (let i = starts[position] as number; i < (starts[position + 1] as number); i++) {
      word += String.fromCharCode(text[i] as number);
    }
    return word;
  }

  #add(word: number): void {
    const { dimensions, scales, vectors } = this.#file;
    const sum = this.#sum;
    const scale = scales[word] as number;
    const start = word * dimensions;
    for (let d = 0; d < dimensions; d++) {
      sum[d] = (sum[d] as number) + scale * (vectors[start + d] as number);
    }
  }

  /** Every known word; a run of letters that is none is tried in parts (validateToken, HTTPServer). */
  #eachWord(text: string, found: (position: number) => void): void {
    for (let i = 0; i < text.length; i++) {
      if (!isWordCharacter(text.charCodeAt(i))) continue;
      let end = i + 1;
      while (end < text.length && isWordCharacter(text.charCodeAt(end))) end++;
      const whole = this.#find(text, i, end);
      if (whole !== -1) found(whole);
      else this.#eachPart(text, { start: i, end }, found);
      i = end;
    }
  }

  #eachPart(
    text: string,
    run: { readonly start: number; readonly end: number },
    found: (position: number) => void,
  ): void {
    let start = run.start;
    for (let i = run.start + 1; i <= run.end; i++) {
      if (i < run.end && !startsPart(text, i, run.end)) continue;
      // The run itself was looked up before.
      const whole = start === run.start && i === run.end;
      const part = whole ? -1 : this.#find(text, start, i);
      if (part !== -1) found(part);
      start = i;
    }
  }

  /** The position of the word that stands in the text from `start` to `end`, or -1. */
  #find(text: string, start: number, end: number): number {
    const { slots, table } = this.#file;
    let hash = HASH_START;
    for (let i = start; i < end; i++) hash = hashStep(hash, lower(text.charCodeAt(i)));
    for (let slot = slotOf(hash, slots); ; slot = (slot + 1) & (slots - 1)) {
      const position = (table[slot] as number) - 1;
      if (position === -1 || this.#isWord(position, { text, start, end })) return position;
    }
  }

  #isWord(
    position: number,
    at: { readonly text: string; readonly start: number; readonly end: number },
  ): boolean {
    const { starts, text } = this.#file;
    const first = starts[position] as number;
    if ((starts[position + 1] as number) - first !== at.end - at.start) return false;
    for (let i = at.start; i < at.end; i++) {
      if (text[first + i - at.start] !== lower(at.text.charCodeAt(i))) return false;
    }
    return true;
  }
}

// Characters --------------------------------------------------------------------------------------

const ASCII = /^\p{ASCII}*$/u;

/** Without accents; the table has ASCII words only. */
function stripAccents(text: string): string {
  return ASCII.test(text) ? text : text.normalize("NFKD").replace(/\p{M}+/gu, "");
}

const isUpper = (code: number): boolean => code >= 65 && code <= 90;
const isLower = (code: number): boolean => code >= 97 && code <= 122;
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isWordCharacter = (code: number): boolean => isLower(code) || isUpper(code) || isDigit(code);
const lower = (code: number): number => (isUpper(code) ? code + 32 : code);

/** Whether a part of an identifier begins here: aB, ABc (before the B), a1, 1a. */
function startsPart(text: string, i: number, end: number): boolean {
  const before = text.charCodeAt(i - 1);
  const here = text.charCodeAt(i);
  if (isDigit(before) !== isDigit(here)) return true;
  if (!isUpper(here)) return false;
  return isLower(before) || (i + 1 < end && isLower(text.charCodeAt(i + 1)));
}

// The table that comes with the package -----------------------------------------------------------

let bundled: WordVectors | undefined;

/** Read at the first call, once for the process; give `data` to a thread so that it need not. */
export function bundledWordVectors(): WordVectors {
  bundled ??= new WordVectors(readShared(new URL("./words.bin", import.meta.url)));
  return bundled;
}

/** The nearest words of the bundled table. */
export const neighboursOf = (word: string): readonly Neighbour[] =>
  bundledWordVectors().neighboursOf(word);

function readShared(file: URL): SharedArrayBuffer {
  try {
    const handle = openSync(file, "r");
    try {
      const data = new SharedArrayBuffer(fstatSync(handle).size);
      const bytes = new Uint8Array(data);
      for (let at = 0; at < bytes.length; ) {
        const read = readSync(handle, bytes, at, bytes.length - at, at);
        if (read === 0) break;
        at += read;
      }
      return data;
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    throw new BatonError("embedder_invalid", {
      message: "The table of word vectors that belongs to the package cannot be read.",
      path: file.pathname,
      hint: "Install the package again.",
      cause,
    });
  }
}
