/**
 * The number of random runs of a test: a number that suits every run, times the factor of `npm run
 * test:long`.
 */

const FACTOR = "BATON_RUNS_FACTOR";

/** Returns `count` times the environment's BATON_RUNS_FACTOR (default 1), at least 1. */
export function runs(count: number): number {
  const factor = Number(process.env[FACTOR] ?? 1);
  if (!(factor > 0)) throw new Error(`${FACTOR} is not a positive number: ${process.env[FACTOR]}`);
  return Math.max(1, Math.round(count * factor));
}
