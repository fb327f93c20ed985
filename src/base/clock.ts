/**
 * The source of the current time. It is injected, so that a test can move it and a seeded run can be
 * replayed.
 */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
}

/** The clock of the operating system. */
export const systemClock: Clock = { now: () => Date.now() };
