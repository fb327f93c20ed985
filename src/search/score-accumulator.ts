/**
 * Adds up scores of positions over many posting lists and returns the best. A query takes tens of thousands
 * of additions: a hash table in typed arrays does them in a millisecond, a Map takes five.
 */
const FREE = -1;
/** This many times the wanted number are compared with their neighbours. */
const PRESELECTION_FACTOR = 4;
/** Histogram steps between 0 and the highest sum, to find the threshold of the best without sorting. */
const STEPS = 2_048;

interface Entry {
  readonly key: number;
  readonly sum: number;
}

/** Sums of scores by position. */
export class ScoreAccumulator {
  readonly #keys: Float64Array;
  readonly #sums: Float64Array;
  #most = 0;

  /** `additions` is the maximum number of additions. */
  constructor(additions: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(16, additions * 2)));
    this.#keys = new Float64Array(size).fill(FREE);
    this.#sums = new Float64Array(size);
  }

  /** Adds a score to each position. */
  add(positions: readonly number[], worth: number): void {
    if (worth <= 0) return;
    const keys = this.#keys;
    const sums = this.#sums;
    for (const position of positions) {
      const at = slotOf(keys, position);
      keys[at] = position;
      const sum = (sums[at] as number) + worth;
      sums[at] = sum;
      if (sum > this.#most) this.#most = sum;
    }
  }

  /**
   * Returns the best positions, the newest first in case of a tie. A position also gains from the positions
   * right beside it, which are mostly of the same session (`beside`: the weight per distance). Only the best
   * by themselves are compared that way.
   */
  best(want: number, beside: readonly number[]): number[] {
    return this.#atLeast(want * PRESELECTION_FACTOR)
      .map(({ key, sum }) => ({ key, sum: sum + this.#around(key, beside) }))
      .sort(bestFirst)
      .slice(0, want)
      .map(({ key }) => key);
  }

  #around(key: number, beside: readonly number[]): number {
    let sum = 0;
    for (const [n, weight] of beside.entries()) {
      sum += weight * Math.max(this.#sumOf(key - n - 1), this.#sumOf(key + n + 1));
    }
    return sum;
  }

  /** Returns the `want` best entries; the threshold comes from the histogram. */
  #atLeast(want: number): Entry[] {
    const steps = new Uint32Array(STEPS + 1);
    const scale = STEPS / (this.#most || 1);
    const sums = this.#sums;
    for (const sum of sums) {
      const step = (sum * scale) | 0;
      if (sum > 0) steps[step] = (steps[step] as number) + 1;
    }
    let step = STEPS;
    for (let count = steps[step] as number; count < want && step > 0; ) {
      count += steps[--step] as number;
    }
    const found: Entry[] = [];
    for (let at = 0; at < sums.length; at++) {
      const sum = sums[at] as number;
      if (sum > 0 && ((sum * scale) | 0) >= step)
        found.push({ key: this.#keys[at] as number, sum });
    }
    return found.sort(bestFirst).slice(0, want);
  }

  #sumOf(key: number): number {
    const at = slotOf(this.#keys, key);
    return this.#keys[at] === key ? (this.#sums[at] as number) : 0;
  }
}

const bestFirst = (a: Entry, b: Entry): number => b.sum - a.sum || b.key - a.key;

function slotOf(keys: Float64Array, key: number): number {
  const mask = keys.length - 1;
  let at = (Math.imul(key % 0x1_0000_0000, 0x9e3779b1) >>> 8) & mask;
  while (keys[at] !== FREE && keys[at] !== key) at = (at + 1) & mask;
  return at;
}
