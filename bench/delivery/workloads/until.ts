/** Waiting for a system, but not for one that has stopped: a lost message ends in a sentence. */
import { setTimeout as sleep } from "node:timers/promises";

const STALLED_MS = 60_000;

/**
 * Asks until `left` is 0 or less; gives up when that has not moved for a minute.
 * @returns how often it had to ask again
 */
export async function until(
  what: string,
  everyMs: number,
  left: () => Promise<number>,
): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  let movedAt = performance.now();
  for (let again = 0; ; again++) {
    const now = await left();
    if (now <= 0) return again;
    if (now < lowest) {
      lowest = now;
      movedAt = performance.now();
    } else if (performance.now() - movedAt > STALLED_MS) {
      throw new Error(`stalled with ${now} ${what}`);
    }
    await sleep(everyMs);
  }
}
