/**
 * Signatures: 128 bits per vector, of which similar vectors differ in few. A scan over the signatures of a
 * million records takes about ten milliseconds (16 MB, bitwise operations only) and finds the few hundred
 * candidates for which the exact cosine is computed.
 *
 * For the bundled vectors, the bits are the signs of the first 128 dimensions, which were rotated for this
 * purpose when the table was built. For vectors of other models, they are the signs of 128 projections onto
 * fixed orthogonal directions, which keep more of the exact neighbours than independent ones (79 versus 76 of
 * 100).
 */
import { strict as assert } from "node:assert";

/** Bits of a signature. */
export const SIGNATURE_BITS = 128;
/** 32-bit words of a signature. */
export const SIGNATURE_WORDS = SIGNATURE_BITS / 32;

/** Must never change: another seed would invalidate every stored signature. */
const SEED = 0x5eed_ba70;

/** Computes the signature of a vector. */
export type SignatureFunction = (vector: Float32Array) => Uint32Array;

/** Returns the signature function for vectors of this many dimensions. */
export function signatureFunctionFor(of: {
  readonly dimensions: number;
  readonly balanced: boolean;
}): SignatureFunction {
  if (of.balanced && of.dimensions >= SIGNATURE_BITS) return signsOf;
  const directions = orthogonalDirections(of.dimensions);
  return (vector) => {
    assert.equal(vector.length, of.dimensions);
    return signsOf(project(vector, directions));
  };
}

/** Returns the indexes of the `k` signatures nearest to the query's, nearest first, then in order. */
export function nearestSignatures(
  signatures: Uint32Array,
  query: Uint32Array,
  k: number,
): Uint32Array {
  const count = signatures.length / SIGNATURE_WORDS;
  assert(Number.isInteger(count) && query.length === SIGNATURE_WORDS);
  const distances = new Uint8Array(count);
  const histogram = distancesTo(signatures, query, distances);
  return smallest(distances, histogram, Math.min(k, count));
}

/** Returns the number of bits in which two signatures differ. */
export function hamming(a: Uint32Array, b: Uint32Array): number {
  const distance = new Uint8Array(1);
  distancesTo(a, b, distance);
  return distance[0] as number;
}

/**
 * Fills in the distance of each signature and returns how often each distance occurs. The four words are
 * counted together: the sum of two 4-bit counts still fits its field, so the second half of the population
 * count is shared. Twice as fast as four separate counts.
 */
function distancesTo(
  signatures: Uint32Array,
  query: Uint32Array,
  distances: Uint8Array,
): Uint32Array {
  const [q0, q1, q2, q3] = query as unknown as [number, number, number, number];
  const histogram = new Uint32Array(SIGNATURE_BITS + 1);
  for (let i = 0, at = 0; i < distances.length; i++, at += SIGNATURE_WORDS) {
    let a = (signatures[at] as number) ^ q0;
    let b = (signatures[at + 1] as number) ^ q1;
    let c = (signatures[at + 2] as number) ^ q2;
    let d = (signatures[at + 3] as number) ^ q3;
    a -= (a >>> 1) & 0x5555_5555;
    b -= (b >>> 1) & 0x5555_5555;
    c -= (c >>> 1) & 0x5555_5555;
    d -= (d >>> 1) & 0x5555_5555;
    a = (a & 0x3333_3333) + ((a >>> 2) & 0x3333_3333);
    b = (b & 0x3333_3333) + ((b >>> 2) & 0x3333_3333);
    c = (c & 0x3333_3333) + ((c >>> 2) & 0x3333_3333);
    d = (d & 0x3333_3333) + ((d >>> 2) & 0x3333_3333);
    a = (a + b) | 0;
    c = (c + d) | 0;
    a = (a & 0x0f0f_0f0f) + ((a >>> 4) & 0x0f0f_0f0f);
    c = (c & 0x0f0f_0f0f) + ((c >>> 4) & 0x0f0f_0f0f);
    const distance = Math.imul(a + c, 0x0101_0101) >>> 24;
    distances[i] = distance;
    histogram[distance] = (histogram[distance] as number) + 1;
  }
  return histogram;
}

/** A counting sort that stops when it has enough. */
function smallest(distances: Uint8Array, histogram: Uint32Array, k: number): Uint32Array {
  const starts = new Uint32Array(SIGNATURE_BITS + 1);
  let furthest = 0;
  for (let distance = 0, before = 0; distance <= SIGNATURE_BITS && before < k; distance++) {
    starts[distance] = before;
    before += histogram[distance] as number;
    furthest = distance;
  }
  const positions = new Uint32Array(k);
  for (let i = 0; i < distances.length; i++) {
    const distance = distances[i] as number;
    if (distance > furthest) continue;
    const place = starts[distance] as number;
    starts[distance] = place + 1;
    if (place < k) positions[place] = i;
  }
  return positions;
}

function signsOf(values: Float32Array): Uint32Array {
  const bits = new Uint32Array(SIGNATURE_WORDS);
  for (let i = 0; i < SIGNATURE_BITS; i++) {
    if ((values[i] as number) > 0) bits[i >>> 5] = (bits[i >>> 5] as number) | (1 << (i & 31));
  }
  return bits;
}

function project(vector: Float32Array, directions: readonly Float32Array[]): Float32Array {
  const values = new Float32Array(SIGNATURE_BITS);
  for (const [i, direction] of directions.entries()) {
    let sum = 0;
    for (let d = 0; d < vector.length; d++) {
      sum += (vector[d] as number) * (direction[d] as number);
    }
    values[i] = sum;
  }
  return values;
}

const directionCache = new Map<number, readonly Float32Array[]>();

/**
 * Returns 128 directions, orthogonal as far as the number of dimensions allows; with fewer dimensions, a new
 * orthogonal set begins when one is complete.
 */
function orthogonalDirections(dimensions: number): readonly Float32Array[] {
  const known = directionCache.get(dimensions);
  if (known !== undefined) return known;
  const random = gaussian(SEED ^ dimensions);
  const directions: Float32Array[] = [];
  while (directions.length < SIGNATURE_BITS) {
    const direction = Float32Array.from({ length: dimensions }, random);
    const first = directions.length - (directions.length % dimensions);
    for (const other of directions.slice(first)) removeFrom(direction, other);
    directions.push(normalise(direction));
  }
  directionCache.set(dimensions, directions);
  return directions;
}

function removeFrom(vector: Float32Array, direction: Float32Array): void {
  let along = 0;
  for (let d = 0; d < vector.length; d++) along += (vector[d] as number) * (direction[d] as number);
  for (let d = 0; d < vector.length; d++) {
    vector[d] = (vector[d] as number) - along * (direction[d] as number);
  }
}

function normalise(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/**
 * Returns a generator of normally distributed numbers: the sum of twelve uniform ones (no libm, so the result is
 * the same on every platform).
 */
export function gaussian(seed: number): () => number {
  let state = seed >>> 0;
  const even = (): number => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += even();
    return sum;
  };
}
