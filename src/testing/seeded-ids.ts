/** Random numbers and ids from a seed: the same seed and clock reproduce the same ids, salts and jitter. */
import type { Clock } from "../base/clock.ts";
import { createIdGenerator, type IdGenerator } from "../base/ids.ts";

/**
 * Returns a generator of numbers from 0 (inclusive) to 1 (exclusive). Mulberry32: 32 bits of state, good
 * enough for tests.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Returns an id generator that depends only on seed and clock. */
export function seededIds(seed: number, clock: Clock): IdGenerator {
  const random = seededRandom(seed);
  return createIdGenerator(clock, (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
  });
}
