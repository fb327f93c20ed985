/**
 * The layout of words.bin: one block of bytes that is used in place. Every part is a typed array over the
 * same buffer, so that loading is one read, worker threads can share it, and a word becomes a string only on
 * request.
 *
 *   header        64 bytes: magic, digest of the rest, counts
 *   scales        f32 × words     factor for the bytes of a vector; includes the word's weight in a
 *                                 sentence
 *   starts        u32 × words+1   where a word begins in `text`
 *   slots         u16 × slots     open hash table: index of a word + 1, or 0
 *   neighbours    u16 × words × k indexes of the nearest words + 1, or 0
 *   similarities  u8 × words × k  their cosines, in 255ths
 *   vectors       i8 × words × dimensions
 *   text          u8              the words, concatenated
 */
import { BatonError } from "../../base/errors.ts";

/** "BatonWV1", read as two little-endian numbers. */
const MAGIC = [0x6f_74_61_42, 0x31_56_57_6e] as const;
const HEADER_BYTES = 64;

/** The counts in the header. */
export interface WordCounts {
  readonly words: number;
  readonly dimensions: number;
  /** A power of two. */
  readonly slots: number;
  /** Neighbours stored per word. */
  readonly neighbours: number;
  readonly textBytes: number;
}

/** The parts of the file, as views of one buffer. */
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

/** Returns the offset of each part, and the total size. */
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

/** Returns a buffer with its header, for the script that builds the table. */
export function emptyWordFile(counts: WordCounts): { bytes: Uint8Array; parts: WordFile } {
  const bytes = new Uint8Array(layout(counts).size);
  const { words, dimensions, slots, neighbours, textBytes } = counts;
  const header = [...MAGIC, 0, words, dimensions, slots, neighbours, textBytes];
  new Uint32Array(bytes.buffer, 0, header.length).set(header);
  return { bytes, parts: partsOf(bytes.buffer, counts) };
}

/** Returns the bytes that the digest covers. */
export const digestedPart = (bytes: Uint8Array): Uint8Array => bytes.subarray(HEADER_BYTES);

/** Writes the digest into the header. */
export function writeDigest(bytes: Uint8Array, digest: number): void {
  new Uint32Array(bytes.buffer)[2] = digest;
}

/** Returns the parts of a file. Throws `embedder_invalid` if its header or size is wrong. */
export function readWordFile(buffer: ArrayBufferLike): WordFile {
  if (buffer.byteLength < HEADER_BYTES) throw damaged("the file is too short");
  const header = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
  if (header[0] !== MAGIC[0] || header[1] !== MAGIC[1])
    throw damaged("the file has another format");
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
    throw damaged(`the file has ${buffer.byteLength} bytes instead of ${size}`);
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
    message: `The word vectors of the package (words.bin) are damaged: ${why}.`,
    hint: "Reinstall batonpass.",
  });
}

/** FNV-1a, one byte at a time: begin with HASH_START and apply hashStep to each byte. */
export const HASH_START = 0x811c_9dc5;
export const hashStep = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x0100_0193);
/** Returns the slot of a hash. The low bits of FNV are weak, so the high ones are mixed in. */
export const slotOf = (hash: number, slots: number): number => (hash ^ (hash >>> 15)) & (slots - 1);
