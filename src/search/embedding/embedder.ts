/**
 * What turns text into vectors, so that texts about the same thing lie near each other. Two exist:
 * the table of word vectors that comes with the package (word-vectors.ts) and any server that
 * speaks the OpenAI embeddings protocol (http-embedder.ts). Vectors of two models cannot be
 * compared: whoever stores a vector stores the name of its model with it.
 */
export interface Embedder {
  /** Names what made the vectors; a different name means that they have to be made anew. */
  readonly model: string;
  readonly dimensions: number;
  /**
   * True when the signs of the first 128 dimensions are a signature as they are (signature.ts);
   * vectors of a foreign model are projected first.
   */
  readonly balanced: boolean;
  /** True when it answers at once, by itself: then even a question can wait for it. */
  readonly isLocal: boolean;
  /** Characters of the longest text it takes; a longer one is the mean of its parts. */
  readonly longest: number;
  /**
   * One vector per text, in order, of length one. A text that says nothing the model knows has
   * the zero vector, which is near to nothing.
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
  /** Words near in meaning, nearest first, from a model that knows words. */
  neighboursOf?(word: string): readonly { readonly word: string; readonly similarity: number }[];
}

/** The vector scaled to length one, in place; the zero vector stays as it is. */
export function toUnit(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum === 0) return vector;
  const factor = 1 / Math.sqrt(sum);
  for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) * factor;
  return vector;
}
