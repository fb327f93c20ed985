/**
 * Timers that stand still, for tests in which only a wake-up, a signal or the end of a hub may end a wait;
 * and a way to know that a wait has begun.
 */
import { onTestFinished, vi } from "vitest";
import { until } from "../until.ts";

/** A wait for work polls at least once a second. Timers of connections and HTTP requests run longer. */
const LONGEST_POLL_MS = 1_000;

export interface StoppedTimers {
  /** Resolves when a wait for work has found nothing and sleeps: one more than at the last call. */
  asleep(): Promise<void>;
  /** Lets the timers run again; happens at the end of the test in any case. */
  resume(): void;
}

export function stopTimers(): StoppedTimers {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  // Not a spy of Vitest: it restores those once more before the next file, and with them stopped timers.
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
