/**
 * Quantised vectors: the stored form of a vector. Four bytes with a scale (float, little-endian), then one
 * signed byte per dimension. The scale is the reciprocal of the bytes' length, so that the cosine of two
 * stored vectors is exact for what is stored: only the rounding is lost.
 */
import { strict as assert } from "node:assert";

/** A stored vector. */
export type QuantisedVector = Uint8Array;

const SCALE_BYTES = 4;

/** Quantises a vector to one byte per dimension. The vector must be finite. */
export function quantise(vector: Float32Array): QuantisedVector {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  assert(Number.isFinite(largest), "the vector must be finite");
  const bytes = new Uint8Array(SCALE_BYTES + vector.length);
  if (largest === 0) return bytes;
  const values = valuesOf(bytes);
  let sum = 0;
  for (let d = 0; d < vector.length; d++) {
    const value = Math.round(((vector[d] as number) / largest) * 127);
    values[d] = value;
    sum += value * value;
  }
  viewOf(bytes).setFloat32(0, 1 / Math.sqrt(sum), true);
  return bytes;
}

/** Returns the cosine of two stored vectors, from -1 to 1; 0 if one of them is the zero vector. */
export function cosine(a: QuantisedVector, b: QuantisedVector): number {
  assert.equal(a.length, b.length);
  let sum = 0;
  for (let d = SCALE_BYTES; d < a.length; d++) {
    // Sign-extends the byte, without creating a view for every comparison.
    sum += (((a[d] as number) << 24) >> 24) * (((b[d] as number) << 24) >> 24);
  }
  return sum * scaleOf(a) * scaleOf(b);
}

/** Returns the vector, with length 1. */
export function dequantise(bytes: QuantisedVector): Float32Array {
  const scale = scaleOf(bytes);
  return Float32Array.from(valuesOf(bytes), (value) => value * scale);
}

const viewOf = (bytes: QuantisedVector): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

const scaleOf = (bytes: QuantisedVector): number => viewOf(bytes).getFloat32(0, true);

const valuesOf = (bytes: QuantisedVector): Int8Array =>
  new Int8Array(bytes.buffer, bytes.byteOffset + SCALE_BYTES, bytes.length - SCALE_BYTES);
