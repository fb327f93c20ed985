/**
 * Random numbers from a seed that can be replayed. `BATON_SEED` sets the seed; without it, each run
 * takes a new one, so that many runs test many orders.
 */

export interface Random {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number;
  /** Returns an integer from 0 (included) to `below` (excluded). */
  below(below: number): number;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
  chance(probability: number): boolean;
}

export function chosenSeed(given = process.env["BATON_SEED"]): number {
  const seed = Number(given ?? Math.floor(Math.random() * 2 ** 31));
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new Error(`a seed is a whole number, not "${given}"`);
}

/** Mulberry32: 32 bits of state are enough to choose what a test does next. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    pick: (items) => items[below(items.length)] ?? items[0],
    chance: (probability) => next() < probability,
  };
}
