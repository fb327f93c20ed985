/** The vectors in an embedding server's answer, each checked and put in the order of the question. */
import { field, unusable as unusableAnswer } from "../../base/server-request.ts";
import { EMBEDDING } from "./http-options.ts";

/** `{ data: [{ index, embedding: number[] }] }`, in any order, complete. */
export function vectorsIn(answer: unknown, expected: number): Float32Array[] {
  const data = field(answer, "data");
  if (!Array.isArray(data)) throw unusable("it has no list called data");
  if (data.length !== expected) {
    throw unusable(`it has ${data.length} vectors for ${expected} texts`);
  }
  const vectors: (Float32Array | undefined)[] = new Array(expected).fill(undefined);
  for (const [i, entry] of data.entries()) {
    const place = placeOf(entry, i);
    if (!Number.isInteger(place) || place < 0 || place >= expected) {
      throw unusable(`data[${i}].index is ${JSON.stringify(place)}`);
    }
    if (vectors[place] !== undefined) throw unusable(`it has two vectors of index ${place}`);
    vectors[place] = vectorOf(field(entry, "embedding"), `data[${i}].embedding`);
  }
  return vectors as Float32Array[];
}

/** Some servers leave the index out and answer in order. */
function placeOf(entry: unknown, i: number): number {
  return (field(entry, "index") ?? i) as number;
}

function vectorOf(value: unknown, path: string): Float32Array {
  if (!Array.isArray(value) || value.length === 0) throw unusable(`${path} is no list of numbers`);
  let largest = 0;
  for (const [d, number] of value.entries()) {
    if (typeof number !== "number" || !Number.isFinite(number)) {
      throw unusable(`${path}[${d}] is no number`);
    }
    largest = Math.max(largest, Math.abs(number));
  }
  if (largest === 0) throw unusable(`${path} is nothing but zeros`);
  // Scaled first: numbers that a Float32Array cannot hold would become infinite or nothing.
  return Float32Array.from(value as number[], (number) => number / largest);
}

const unusable = (why: string) => unusableAnswer(EMBEDDING, why);
