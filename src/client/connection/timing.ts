/** How patient a client is: with a hub that is away for a moment, and with one that has nothing to say. */
export const CLIENT_TIMING = {
  /** How long an outage is waited out before the caller is told, unless the hub was opened otherwise. */
  outageMs: 30_000,
  /** Tries of one call, however quickly they fail. */
  attempts: 50,
  /** The first pause between two tries; each further one is twice as long, up to the longest. */
  firstPauseMs: 50,
  longestPauseMs: 2_000,
  /** A hub that asks for a pause is given one, up to this. */
  askedPauseMs: 30_000,
  /** How long the answer to one try may take, besides the time the hub was asked to wait. */
  answerMs: 60_000,
  /** How long the hub is asked to hold an answer back; then it is asked again. */
  waitMs: 20_000,
  /** What a hub that is being closed still waits for. */
  closingMs: 5_000,
} as const;

/** The pause after so many tries, never the same for two clients. */
export function backoffMs(tries: number): number {
  const longest = Math.min(CLIENT_TIMING.firstPauseMs * 2 ** tries, CLIENT_TIMING.longestPauseMs);
  return longest * (0.5 + Math.random() / 2);
}
