/**
 * Converts texts to vectors, so that texts about the same topic are near each other. There are two
 * implementations: the table of word vectors in the package (word-vectors.ts) and any server with the OpenAI
 * embeddings protocol (http-embedder.ts). Vectors of two models cannot be compared, so a stored vector
 * includes the name of its model.
 */
export interface Embedder {
  /** Identifies the model; if it changes, all vectors must be computed again. */
  readonly model: string;
  /** Number of dimensions of its vectors. */
  readonly dimensions: number;
  /**
   * True if the signs of the first 128 dimensions can be used as the signature (vector-signature.ts); vectors
   * of other models are projected first.
   */
  readonly balanced: boolean;
  /** True if it answers immediately, without a network: then even a query can wait for it. */
  readonly isLocal: boolean;
  /** Maximum length of a text in characters; a longer text gets the mean of the vectors of its parts. */
  readonly longest: number;
  /**
   * Returns one vector of length 1 per text, in order. A text without anything the model knows gets the zero
   * vector, which is near to nothing.
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
  /** Returns words similar in meaning, nearest first; only for a model that knows words. */
  neighboursOf?(word: string): readonly { readonly word: string; readonly similarity: number }[];
}

/** Scales a vector to length 1, in place; the zero vector stays unchanged. */
export function toUnit(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum === 0) return vector;
  const factor = 1 / Math.sqrt(sum);
  for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) * factor;
  return vector;
}
