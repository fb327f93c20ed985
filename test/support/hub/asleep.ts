/**
 * Stopped timers, for tests in which only a wake-up, a signal or closing a hub may end a wait, and
 * a way to know that a wait has begun.
 */
import { onTestFinished, vi } from "vitest";
import { until } from "../until.ts";

/**
 * A wait for work polls at least once a second. Timers of connections and HTTP requests run longer.
 */
const LONGEST_POLL_MS = 1_000;

export interface StoppedTimers {
  /** Resolves when one more wait for work than at the last call has found nothing and sleeps. */
  asleep(): Promise<void>;
  /** Restarts the timers; also done at the end of the test. */
  resume(): void;
}

export function stopTimers(): StoppedTimers {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  // Not a Vitest spy: Vitest restores spies again before the next file, and with them stopped
  // timers.
  const stopped = globalThis.setTimeout;
  let sleeps = 0;
  let seen = 0;
  const counting = (run: () => void, ms = 0): NodeJS.Timeout => {
    if (ms > 0 && ms <= LONGEST_POLL_MS) sleeps++;
    return stopped(run, ms);
  };
  globalThis.setTimeout = Object.assign(counting, stopped);
  const resume = (): void => {
    if (globalThis.setTimeout === counting) globalThis.setTimeout = stopped;
    vi.useRealTimers();
  };
  onTestFinished(resume);
  return {
    resume,
    async asleep() {
      await until("a wait that sleeps", () => sleeps > seen);
      seen = sleeps;
    },
  };
}
