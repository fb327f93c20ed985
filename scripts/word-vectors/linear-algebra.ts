/** Linear algebra for building the table of word vectors, on matrices in one flat array. */

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

export const matrix = (rows: number, columns: number): Matrix => ({
  rows,
  columns,
  data: new Float32Array(rows * columns),
});

export const row = (of: Matrix, at: number): Float32Array =>
  of.data.subarray(at * of.columns, (at + 1) * of.columns);

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

export const norm = (a: ArrayLike<number>): number => Math.sqrt(dot(a, a));

export function mean(of: Matrix): Float64Array {
  const sum = new Float64Array(of.columns);
  for (let r = 0; r < of.rows; r++) addTo(sum, row(of, r), 1 / of.rows);
  return sum;
}

export function addTo(
  target: Float32Array | Float64Array,
  source: ArrayLike<number>,
  factor: number,
): void {
  for (let i = 0; i < target.length; i++) {
    target[i] = (target[i] as number) + factor * (source[i] as number);
  }
}

/** Returns the covariance of the columns over the first rows, around `center`. */
export function covariance(of: Matrix, rows: number, center: ArrayLike<number>): Float64Array[] {
  const sums = Array.from({ length: of.columns }, () => new Float64Array(of.columns));
  const shifted = new Float64Array(of.columns);
  for (let r = 0; r < rows; r++) {
    const values = row(of, r);
    for (let i = 0; i < of.columns; i++) shifted[i] = (values[i] as number) - (center[i] as number);
    for (let i = 0; i < of.columns; i++)
      addTo(sums[i] as Float64Array, shifted, shifted[i] as number);
  }
  for (const sum of sums) for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) / rows;
  return sums;
}

/** Returns the largest eigenvectors of a symmetric matrix, by seeded orthogonal iteration. */
export function principalComponents(
  symmetric: readonly Float64Array[],
  count: number,
  random: () => number,
): { readonly vectors: Float64Array[]; readonly values: number[] } {
  const size = symmetric.length;
  let vectors = orthonormal(
    Array.from({ length: count }, () => Float64Array.from({ length: size }, random)),
  );
  for (let round = 0; round < 120; round++) {
    vectors = orthonormal(
      vectors.map((vector) => Float64Array.from(symmetric, (line) => dot(line, vector))),
    );
  }
  const values = vectors.map((vector) =>
    dot(
      vector,
      symmetric.map((line) => dot(line, vector)),
    ),
  );
  return { vectors, values };
}

/** Orthonormalizes vectors in place (Gram-Schmidt). */
export function orthonormal(vectors: Float64Array[]): Float64Array[] {
  for (const [i, vector] of vectors.entries()) {
    for (const other of vectors.slice(0, i)) addTo(vector, other, -dot(vector, other));
    const length = norm(vector);
    for (let d = 0; d < vector.length; d++) vector[d] = (vector[d] as number) / length;
  }
  return vectors;
}
