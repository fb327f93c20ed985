/**
 * The layout of words.bin: one block of bytes that is used where it lies. Every part is a typed
 * array over the one buffer, so that loading is one read, a worker thread can share it, and no
 * word ever becomes a string unless somebody asks for it.
 *
 *   header        64 bytes: magic, digest of the rest, counts
 *   scales        f32 × words     what the bytes of a vector are multiplied with; the word's weight
 *                                 in a sentence is part of it
 *   starts        u32 × words+1   where a word begins in `text`
 *   slots         u16 × slots     open hash table: position of a word + 1, or 0
 *   neighbours    u16 × words × k positions of the nearest words + 1, or 0
 *   similarities  u8 × words × k  their cosines, in 255ths
 *   vectors       i8 × words × dimensions
 *   text          u8              the words, one after the other
 */
import { BatonError } from "../../base/errors.ts";

/** "BatonWV1", read as two little-endian numbers. */
const MAGIC = [0x6f_74_61_42, 0x31_56_57_6e] as const;
const HEADER_BYTES = 64;

export interface WordCounts {
  readonly words: number;
  readonly dimensions: number;
  /** A power of two. */
  readonly slots: number;
  /** Neighbours kept for each word. */
  readonly neighbours: number;
  readonly textBytes: number;
}

export interface WordFile extends WordCounts {
  /** The first 32 bits of the SHA-256 of everything after the header. */
  readonly digest: number;
  readonly scales: Float32Array;
  readonly starts: Uint32Array;
  readonly table: Uint16Array;
  readonly near: Uint16Array;
  readonly similarities: Uint8Array;
  readonly vectors: Int8Array;
  readonly text: Uint8Array;
}

/** Where each part begins, and the size of the whole. */
function layout(counts: WordCounts) {
  let at = HEADER_BYTES;
  const place = (bytes: number): number => {
    const start = at;
    at += Math.ceil(bytes / 4) * 4;
    return start;
  };
  const { words, dimensions, slots, neighbours, textBytes } = counts;
  return {
    scales: place(words * 4),
    starts: place((words + 1) * 4),
    table: place(slots * 2),
    near: place(words * neighbours * 2),
    similarities: place(words * neighbours),
    vectors: place(words * dimensions),
    text: place(textBytes),
    size: at,
  };
}

/** A buffer with its header, to be filled in by whoever builds the table. */
export function emptyWordFile(counts: WordCounts): { bytes: Uint8Array; parts: WordFile } {
  const bytes = new Uint8Array(layout(counts).size);
  const { words, dimensions, slots, neighbours, textBytes } = counts;
  const header = [...MAGIC, 0, words, dimensions, slots, neighbours, textBytes];
  new Uint32Array(bytes.buffer, 0, header.length).set(header);
  return { bytes, parts: partsOf(bytes.buffer, counts) };
}

/** What the digest covers. */
export const digestedPart = (bytes: Uint8Array): Uint8Array => bytes.subarray(HEADER_BYTES);

export function writeDigest(bytes: Uint8Array, digest: number): void {
  new Uint32Array(bytes.buffer)[2] = digest;
}

export function readWordFile(buffer: ArrayBufferLike): WordFile {
  if (buffer.byteLength < HEADER_BYTES) throw damaged("it is too short");
  const header = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
  if (header[0] !== MAGIC[0] || header[1] !== MAGIC[1]) throw damaged("it is another kind of file");
  const [words, dimensions, slots, neighbours, textBytes] = header.slice(3, 8) as unknown as [
    number,
    number,
    number,
    number,
    number,
  ];
  const counts = { words, dimensions, slots, neighbours, textBytes };
  const { size } = layout(counts);
  if (size !== buffer.byteLength) {
    throw damaged(`it has ${buffer.byteLength} bytes instead of ${size}`);
  }
  return partsOf(buffer, counts);
}

function partsOf(buffer: ArrayBufferLike, counts: WordCounts): WordFile {
  const at = layout(counts);
  const { words, dimensions, slots, neighbours, textBytes } = counts;
  return {
    ...counts,
    digest: new Uint32Array(buffer, 0, 3)[2] as number,
    scales: new Float32Array(buffer, at.scales, words),
    starts: new Uint32Array(buffer, at.starts, words + 1),
    table: new Uint16Array(buffer, at.table, slots),
    near: new Uint16Array(buffer, at.near, words * neighbours),
    similarities: new Uint8Array(buffer, at.similarities, words * neighbours),
    vectors: new Int8Array(buffer, at.vectors, words * dimensions),
    text: new Uint8Array(buffer, at.text, textBytes),
  };
}

function damaged(why: string): BatonError {
  return new BatonError("embedder_invalid", {
    message: `The table of word vectors cannot be used: ${why}.`,
    hint: "Install the package again.",
  });
}

/** FNV-1a, one character at a time: start with HASH_START, fold each byte in. */
export const HASH_START = 0x811c_9dc5;
export const hashStep = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x0100_0193);
/** The last bits of FNV are weak; the table takes them after the high ones are mixed in. */
export const slotOf = (hash: number, slots: number): number => (hash ^ (hash >>> 15)) & (slots - 1);
