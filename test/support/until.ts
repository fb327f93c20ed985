/**
 * Waits for a condition, with a limit that only a defect reaches: a busy machine may take many
 * seconds.
 */
import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 60_000;
const POLL_MS = 5;

/**
 * Returns the first value of `holds` that is neither undefined nor false. Throws after a minute,
 * naming `what` it waited for.
 */
export async function until<T>(
  what: string,
  holds: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const value = await holds();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > limit) throw new Error(`waited a minute for this: ${what}`);
    await sleep(POLL_MS);
  }
}
