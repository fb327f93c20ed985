/**
 * The cosine of the angle between two vectors: 1 for the same direction, 0 for nothing in common.
 * A vector is a JSON array of numbers, or a blob of 32-bit floats, lowest byte first.
 *
 * Of vectors that cannot be compared (none, another length, no length at all) the similarity is
 * NULL: one odd record must not spoil the answer about the others.
 */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { dequantise } from "../../search/embedding/quantise.ts";

/** A vector as the store keeps it, as JSON. */
export function storedVectorJson(bytes: SQLOutputValue): SQLInputValue {
  return bytes instanceof Uint8Array ? JSON.stringify([...dequantise(bytes)]) : null;
}

export function cosineSimilarity(a: SQLOutputValue, b: SQLOutputValue): SQLInputValue {
  if (a === null || b === null) return null;
  const left = vectorOf(a);
  const right = vectorOf(b);
  if (left.length !== right.length) return null;
  let dot = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (let i = 0; i < left.length; i++) {
    const [x, y] = [left[i] as number, right[i] as number];
    dot += x * y;
    leftSquares += x * x;
    rightSquares += y * y;
  }
  const similarity = dot / (Math.sqrt(leftSquares) * Math.sqrt(rightSquares));
  return Number.isFinite(similarity) ? similarity : null;
}

/** The same text again and again, a row at a time: most calls compare with one bound vector. */
let last: { readonly text: string; readonly vector: readonly number[] } = { text: "", vector: [] };

function vectorOf(value: SQLOutputValue): ArrayLike<number> {
  if (value instanceof Uint8Array) {
    return new Float32Array(value.slice().buffer, 0, Math.floor(value.byteLength / 4));
  }
  if (typeof value !== "string" || !value.trimStart().startsWith("[")) {
    throw new Error(
      "cosine_similarity compares vectors; bind a text as a parameter { text: … } to have it made into one",
    );
  }
  if (last.text === value) return last.vector;
  const numbers: unknown = JSON.parse(value);
  const vector = (numbers as readonly unknown[]).map((each) =>
    typeof each === "number" ? each : Number.NaN,
  );
  last = { text: value, vector };
  return vector;
}
