/**
 * A vector as it is stored: the bytes of one column. One number that makes it whole again (four
 * bytes, little-endian), then one signed byte per dimension. The number is the reciprocal of the
 * bytes' length, so that the cosine of two stored vectors is exact for what is stored: only the
 * rounding is lost.
 */
import { strict as assert } from "node:assert";

export type QuantisedVector = Uint8Array;

const SCALE_BYTES = 4;

export function quantise(vector: Float32Array): QuantisedVector {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  assert(Number.isFinite(largest), "a vector has finite numbers");
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

/** From -1 to 1; 0 when one of them is the zero vector. */
export function cosine(a: QuantisedVector, b: QuantisedVector): number {
  assert.equal(a.length, b.length);
  let sum = 0;
  for (let d = SCALE_BYTES; d < a.length; d++) {
    // A byte with its sign, without a view of the bytes for every comparison.
    sum += (((a[d] as number) << 24) >> 24) * (((b[d] as number) << 24) >> 24);
  }
  return sum * scaleOf(a) * scaleOf(b);
}

/** The vector again, of length one. */
export function dequantise(bytes: QuantisedVector): Float32Array {
  const scale = scaleOf(bytes);
  return Float32Array.from(valuesOf(bytes), (value) => value * scale);
}

const viewOf = (bytes: QuantisedVector): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

const scaleOf = (bytes: QuantisedVector): number => viewOf(bytes).getFloat32(0, true);

const valuesOf = (bytes: QuantisedVector): Int8Array =>
  new Int8Array(bytes.buffer, bytes.byteOffset + SCALE_BYTES, bytes.length - SCALE_BYTES);
