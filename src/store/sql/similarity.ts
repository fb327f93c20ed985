/**
 * The SQL function `cosine_similarity`: the cosine of the angle between two vectors. 1 means the same
 * direction, 0 means nothing in common. A vector is a JSON array of numbers, or a blob of 32-bit floats,
 * lowest byte first.
 *
 * The similarity of vectors that cannot be compared (missing, of different dimensions, or of length zero) is
 * NULL, so that one unusual record does not fail the whole query.
 */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { dequantise } from "../../search/embedding/quantise.ts";

/** Returns a stored vector as a JSON array; NULL for anything but a blob. */
export function storedVectorJson(bytes: SQLOutputValue): SQLInputValue {
  return bytes instanceof Uint8Array ? JSON.stringify([...dequantise(bytes)]) : null;
}

/** Returns the cosine similarity, or NULL for vectors that cannot be compared. Throws for other texts. */
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

/** The last parsed vector: most calls compare each row with the same bound vector. */
let last: { readonly text: string; readonly vector: readonly number[] } = { text: "", vector: [] };

function vectorOf(value: SQLOutputValue): ArrayLike<number> {
  if (value instanceof Uint8Array) {
    return new Float32Array(value.slice().buffer, 0, Math.floor(value.byteLength / 4));
  }
  if (typeof value !== "string" || !value.trimStart().startsWith("[")) {
    throw new Error(
      "cosine_similarity compares vectors; bind a text as a parameter { text: … } to have it embedded",
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
