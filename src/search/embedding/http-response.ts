/**
 * Parses the response of an embedding server: checks each vector and returns them in the order of the texts.
 */
import {
  readField,
  invalidServerResponse as unusableAnswer,
} from "../../base/model-server-request.ts";
import { EMBEDDING_SERVER } from "./http-options.ts";

/**
 * Parses `{ data: [{ index, embedding: number[] }] }`, which may be in any order but must be complete. Throws
 * `embedder_invalid` for any other response.
 */
export function parseVectors(answer: unknown, expected: number): Float32Array[] {
  const data = readField(answer, "data");
  if (!Array.isArray(data)) throw invalidResponse('it has no array "data"');
  if (data.length !== expected) {
    throw invalidResponse(`it has ${data.length} vectors for ${expected} texts`);
  }
  const vectors: (Float32Array | undefined)[] = new Array(expected).fill(undefined);
  for (const [i, entry] of data.entries()) {
    const place = placeOf(entry, i);
    if (!Number.isInteger(place) || place < 0 || place >= expected) {
      throw invalidResponse(
        `data[${i}].index is ${JSON.stringify(place)}, which is not a valid index`,
      );
    }
    if (vectors[place] !== undefined)
      throw invalidResponse(`it has two vectors with index ${place}`);
    vectors[place] = vectorOf(readField(entry, "embedding"), `data[${i}].embedding`);
  }
  return vectors as Float32Array[];
}

/** Some servers omit the index and answer in order. */
function placeOf(entry: unknown, i: number): number {
  return (readField(entry, "index") ?? i) as number;
}

function vectorOf(value: unknown, path: string): Float32Array {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidResponse(`${path} is not a list of numbers`);
  let largest = 0;
  for (const [d, number] of value.entries()) {
    if (typeof number !== "number" || !Number.isFinite(number)) {
      throw invalidResponse(`${path}[${d}] is not a finite number`);
    }
    largest = Math.max(largest, Math.abs(number));
  }
  if (largest === 0) throw invalidResponse(`${path} contains only zeros`);
  // Scaled first: values outside the range of a Float32Array would become infinite or zero.
  return Float32Array.from(value as number[], (number) => number / largest);
}

const invalidResponse = (why: string) => unusableAnswer(EMBEDDING_SERVER, why);
