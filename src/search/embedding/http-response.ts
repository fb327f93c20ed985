/** The vectors in an embedding server's answer, each checked and put in the order of the question. */
import {
  readField,
  invalidServerResponse as unusableAnswer,
} from "../../base/model-server-request.ts";
import { EMBEDDING_SERVER } from "./http-options.ts";

/** `{ data: [{ index, embedding: number[] }] }`, in any order, complete. */
export function parseVectors(answer: unknown, expected: number): Float32Array[] {
  const data = readField(answer, "data");
  if (!Array.isArray(data)) throw invalidResponse("it has no list called data");
  if (data.length !== expected) {
    throw invalidResponse(`it has ${data.length} vectors for ${expected} texts`);
  }
  const vectors: (Float32Array | undefined)[] = new Array(expected).fill(undefined);
  for (const [i, entry] of data.entries()) {
    const place = placeOf(entry, i);
    if (!Number.isInteger(place) || place < 0 || place >= expected) {
      throw invalidResponse(`data[${i}].index is ${JSON.stringify(place)}`);
    }
    if (vectors[place] !== undefined) throw invalidResponse(`it has two vectors of index ${place}`);
    vectors[place] = vectorOf(readField(entry, "embedding"), `data[${i}].embedding`);
  }
  return vectors as Float32Array[];
}

/** Some servers leave the index out and answer in order. */
function placeOf(entry: unknown, i: number): number {
  return (readField(entry, "index") ?? i) as number;
}

function vectorOf(value: unknown, path: string): Float32Array {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidResponse(`${path} is no list of numbers`);
  let largest = 0;
  for (const [d, number] of value.entries()) {
    if (typeof number !== "number" || !Number.isFinite(number)) {
      throw invalidResponse(`${path}[${d}] is no number`);
    }
    largest = Math.max(largest, Math.abs(number));
  }
  if (largest === 0) throw invalidResponse(`${path} is nothing but zeros`);
  // Scaled first: numbers that a Float32Array cannot hold would become infinite or nothing.
  return Float32Array.from(value as number[], (number) => number / largest);
}

const invalidResponse = (why: string) => unusableAnswer(EMBEDDING_SERVER, why);
