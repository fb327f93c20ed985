/** How the processor time of a call grows with the size of its input. */

/** The clock of the processor advances in steps of some milliseconds: so much is measured at least. */
const MIN_MEASURED_MS = 30;

/** Returns the processor time of this thread, in ms, that a call takes on average. Work of others does not count. */
export function costOf(run: () => unknown): number {
  const start = process.threadCpuUsage();
  for (let times = 1; ; times++) {
    run();
    const { user, system } = process.threadCpuUsage(start);
    const spent = (user + system) / 1_000;
    if (spent >= MIN_MEASURED_MS) return spent / times;
  }
}

/** The exponent of the growth between two sizes: 1 is linear, 2 is quadratic. */
export const exponentOf = (
  [size, cost]: readonly [size: number, cost: number],
  [largerSize, largerCost]: readonly [size: number, cost: number],
): number => Math.log(largerCost / cost) / Math.log(largerSize / size);
