/** Timeouts and retry intervals of the client, in milliseconds. */
export const CLIENT_TIMING = {
  /** How long calls are retried while the hub is unreachable (default of the option `outageMs`). */
  outageMs: 30_000,
  /** Maximum attempts of one call, however quickly they fail. */
  attempts: 50,
  /** Pause after the first attempt; doubles with each further one, up to `longestPauseMs`. */
  firstPauseMs: 50,
  longestPauseMs: 2_000,
  /** Maximum pause that a hub can request with retry-after. */
  askedPauseMs: 30_000,
  /** Timeout of one attempt, in addition to the time of a long poll. */
  answerMs: 60_000,
  /** Duration of one long poll; then the next one starts. */
  waitMs: 20_000,
  /** How long `close()` waits for calls in progress. */
  closingMs: 5_000,
} as const;

/** Returns the pause after a number of attempts, with jitter so that clients do not retry in step. */
export function backoffMs(attempt: number): number {
  const longest = Math.min(CLIENT_TIMING.firstPauseMs * 2 ** attempt, CLIENT_TIMING.longestPauseMs);
  return longest * (0.5 + Math.random() / 2);
}
