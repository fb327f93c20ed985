/**
 * The built-in embedder, which needs no model: a table of 60,000 English words, each with a vector and a
 * weight (src/search/embedding/PROVENANCE.md describes the sources). The vector of a text is the weighted sum
 * of its words' vectors, scaled to length 1: hundredths of a millisecond per sentence, without a download, a
 * server or a thread. It knows synonyms and topics, but not word order, negation or other languages.
 *
 * Words are looked up by hashing the characters of the text in place, without creating strings.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { BatonError } from "../../base/errors.ts";
import { type Embedder, toUnit } from "./embedder.ts";
import { HASH_START, hashStep, readWordFile, slotOf, type WordFile } from "./word-file.ts";

/** Increased when the same table would give different vectors because texts are split differently. */
const EDITION = 1;

/** A word similar in meaning to another. */
export interface Neighbour {
  readonly word: string;
  /** Cosine of the two words' vectors. */
  readonly similarity: number;
}

/** Embeds texts with a table of word vectors. */
export class WordVectors implements Embedder {
  readonly model: string;
  readonly dimensions: number;
  readonly balanced = true;
  readonly isLocal = true;
  readonly longest: number = Number.MAX_SAFE_INTEGER;
  readonly #file: WordFile;
  readonly #sum: Float64Array;

  /** The bytes of the file; as a SharedArrayBuffer they can be used by any number of threads. */
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

  /** Returns the vector of one text, synchronously. */
  vectorOf(text: string): Float32Array {
    this.#sum.fill(0);
    this.#eachWord(stripAccents(text), (word) => this.#add(word));
    return toUnit(Float32Array.from(this.#sum));
  }

  /** Returns true if the table contains the word in this form. */
  has(word: string): boolean {
    return this.#find(word, 0, word.length) !== -1;
  }

  /**
   * Returns the words nearest in meaning, nearest first, without inflections of the word itself; none for an
   * unknown word.
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

  /**
   * Calls `found` for every known word; an unknown run of letters is split into parts (validateToken,
   * HTTPServer).
   */
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
      // The whole run was looked up before.
      const whole = start === run.start && i === run.end;
      const part = whole ? -1 : this.#find(text, start, i);
      if (part !== -1) found(part);
      start = i;
    }
  }

  /** Returns the index of the word at `start` to `end` of the text, or -1. */
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

/** Removes accents; the table contains ASCII words only. */
function stripAccents(text: string): string {
  return ASCII.test(text) ? text : text.normalize("NFKD").replace(/\p{M}+/gu, "");
}

const isUpper = (code: number): boolean => code >= 65 && code <= 90;
const isLower = (code: number): boolean => code >= 97 && code <= 122;
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isWordCharacter = (code: number): boolean => isLower(code) || isUpper(code) || isDigit(code);
const lower = (code: number): number => (isUpper(code) ? code + 32 : code);

/** Returns true if a part of an identifier begins at `i`: aB, ABc (before the B), a1, 1a. */
function startsPart(text: string, i: number, end: number): boolean {
  const before = text.charCodeAt(i - 1);
  const here = text.charCodeAt(i);
  if (isDigit(before) !== isDigit(here)) return true;
  if (!isUpper(here)) return false;
  return isLower(before) || (i + 1 < end && isLower(text.charCodeAt(i + 1)));
}

// The table that is part of the package -----------------------------------------------------------

let bundled: WordVectors | undefined;

/**
 * Returns the table of the package, read once per process on the first call. Pass `data` to a thread to avoid
 * reading it there.
 */
export function bundledWordVectors(): WordVectors {
  bundled ??= new WordVectors(readShared(new URL("./words.bin", import.meta.url)));
  return bundled;
}

/** Returns the words nearest in meaning, from the table of the package. */
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
      message: "The word vectors of the package (words.bin) cannot be read.",
      path: file.pathname,
      hint: "Reinstall batonpass.",
      cause,
    });
  }
}
