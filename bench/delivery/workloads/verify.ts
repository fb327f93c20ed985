/** Verifies every run: all sent messages are in the store, and each was completed exactly once. */
import type { Tally } from "../system.ts";

export function verifySent(totals: Tally, sent: number): void {
  if (totals.left !== sent)
    throw new Error(`${totals.left} of ${sent} sent messages are in the store`);
}

export function verifyCompleted(totals: Tally, numbers: readonly number[], sent: number): void {
  const { left, completed } = totals;
  if (left !== 0) throw new Error(`${left} of ${sent} messages are unfinished`);
  if (completed !== undefined && completed !== sent) {
    throw new Error(`${completed} of ${sent} messages are completed`);
  }
  const once = new Set(numbers).size;
  if (once !== sent || numbers.length !== sent) {
    throw new Error(`${once} of ${sent} messages were handled, in ${numbers.length} deliveries`);
  }
}
