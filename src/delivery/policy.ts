/**
 * What happens after a try that did not succeed. Decided here, once; the stores carry it out.
 * An unclaimed handoff waits without limit: only claimed tries count.
 */
import type { DeliveryRow } from "../store/rows.ts";
import type { Settlement } from "../store/store.ts";

/** A failure that another try may mend, or one that it cannot. */
export const FAILURE_CLASSES = ["retryable", "permanent"] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** Waits of 0–1 s, 0–2 s, 0–4 s …: full jitter, so that many failures do not retry at once. */
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 30_000;

type Tries = Pick<DeliveryRow, "attempt" | "maxAttempts">;

export function afterFailure(
  tries: Tries,
  failure: { readonly class: FailureClass; readonly random: () => number },
): Settlement {
  if (failure.class === "permanent" || isLast(tries)) return { kind: "failed", becomes: "dead" };
  const ceiling = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries.attempt - 1));
  return { kind: "failed", becomes: "scheduled", delayMs: Math.floor(failure.random() * ceiling) };
}

/** Leaving work unsettled counts as a try, or a crashing receiver would get it for ever. */
export function afterRelease(tries: Tries): Settlement {
  return { kind: "released", becomes: isLast(tries) ? "dead" : "ready" };
}

const isLast = (tries: Tries): boolean => tries.attempt >= tries.maxAttempts;
