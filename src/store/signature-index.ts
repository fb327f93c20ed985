/**
 * Keeps the vector signatures of one model and workspace in memory: the only part of a search that grows with
 * the store. 24 bytes per record, for the newest two million records at most (48 MB).
 */
import { nearestSignatures, SIGNATURE_WORDS } from "../search/embedding/vector-signature.ts";

const MAX_SIGNATURES = 2_000_000;

/** Signatures by position; drops the older half when it is full. */
export class SignatureIndex {
  #positions = new Float64Array(1_024);
  #words = new Uint32Array(1_024 * SIGNATURE_WORDS);
  #size = 0;

  /** The last position added; 0: none. */
  get last(): number {
    return this.#size === 0 ? 0 : (this.#positions[this.#size - 1] as number);
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a signature. Positions must be added in ascending order. */
  add(pos: number, signature: Uint32Array): void {
    if (this.#size === MAX_SIGNATURES) this.#forgetOldest();
    if (this.#size === this.#positions.length) this.#grow();
    this.#positions[this.#size] = pos;
    this.#words.set(signature, this.#size * SIGNATURE_WORDS);
    this.#size++;
  }

  /** Returns up to `limit` positions, the nearest signature first. */
  nearest(signature: Uint32Array, limit: number): number[] {
    const words = this.#words.subarray(0, this.#size * SIGNATURE_WORDS);
    return Array.from(nearestSignatures(words, signature, limit), (n) => this.#positions[n] ?? 0);
  }

  #grow(): void {
    const positions = new Float64Array(this.#positions.length * 2);
    const words = new Uint32Array(this.#words.length * 2);
    positions.set(this.#positions);
    words.set(this.#words);
    this.#positions = positions;
    this.#words = words;
  }

  #forgetOldest(): void {
    const half = MAX_SIGNATURES / 2;
    this.#positions.copyWithin(0, half);
    this.#words.copyWithin(0, half * SIGNATURE_WORDS);
    this.#size -= half;
  }
}
