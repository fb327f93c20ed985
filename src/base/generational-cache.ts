/**
 * A bounded cache with two generations. When the young generation is full it becomes the old one; entries
 * that are read again are copied back. Keeps between `size` and twice `size` of the most recently used
 * entries.
 *
 * Used instead of lru-cache because no caller needs exact recency, times to live or sizes in bytes: this is
 * as fast, and every start of a command would have to load the package.
 */
export class GenerationalCache<Key, Value> {
  readonly #size: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** `size` is the number of entries of each generation. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Returns the value, or undefined if it is not cached. */
  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}
