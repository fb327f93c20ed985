/** Waits for a system; a lost message ends in an error instead of waiting forever. */
import { setTimeout as sleep } from "node:timers/promises";

const STALLED_MS = 60_000;

/**
 * Polls until `left` returns 0 or less. Throws if the number has not decreased for a minute.
 * @returns the number of polls that returned more than 0
 */
export async function until(
  what: string,
  everyMs: number,
  left: () => Promise<number>,
): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  let movedAt = performance.now();
  for (let polls = 0; ; polls++) {
    const now = await left();
    if (now <= 0) return polls;
    if (now < lowest) {
      lowest = now;
      movedAt = performance.now();
    } else if (performance.now() - movedAt > STALLED_MS) {
      throw new Error(`Stalled with ${now} ${what}`);
    }
    await sleep(everyMs);
  }
}
