/**
 * Randomness that a printed seed replays. `BATON_SEED` sets it from outside; without one each run
 * takes a new seed, so that many runs see many orders.
 */

export interface Random {
  /** From 0 (included) to 1 (excluded). */
  next(): number;
  /** A whole number from 0 up to, without, `below`. */
  below(below: number): number;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
  chance(probability: number): boolean;
}

export function chosenSeed(given = process.env["BATON_SEED"]): number {
  const seed = Number(given ?? Math.floor(Math.random() * 2 ** 31));
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new Error(`a seed is a whole number, not "${given}"`);
}

/** Mulberry32: 32 bits of state are plenty for choosing what a test does next. */
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
