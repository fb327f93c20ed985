/** Where time comes from. Injected, so that a test can move it and a seed can replay a run. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
