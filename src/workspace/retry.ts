/**
 * Retries optimistic writes: read, decide, write only if nothing changed in between. If another process was
 * faster, the whole attempt is repeated with the current state.
 */
import { BatonError } from "../base/errors.ts";

/** Returned by an attempt that must be repeated: another process was faster, or there is more to do. */
export const RETRY = Symbol("retry");
export type Retry = typeof RETRY;

const ATTEMPTS = 20;

/** How often to retry, and the error after the last attempt. */
export interface RetryOptions {
  /** What happened at every attempt, such as `The ledger of "x" was changed`; begins the error message. */
  readonly what: string;
  /** Default: 20. */
  readonly attempts?: number;
  readonly path?: string;
  /** Default: "Retry the call." */
  readonly hint?: string;
}

/** Makes attempts until one succeeds. Throws `store_busy` after the last. */
export async function retryWrite<T>(
  options: RetryOptions,
  attempt: () => Promise<T | Retry>,
): Promise<T> {
  const { attempts = ATTEMPTS } = options;
  const outcome = await tryWrite(attempt, attempts);
  if (outcome === RETRY) throw storeBusy(options, attempts);
  return outcome;
}

/** The same for a write that may be given up: returns RETRY after the last attempt. */
export async function tryWrite<T>(
  attempt: () => Promise<T | Retry>,
  attempts = ATTEMPTS,
): Promise<T | Retry> {
  for (let n = 0; n < attempts; n++) {
    const outcome = await attempt();
    if (outcome !== RETRY) return outcome;
  }
  return RETRY;
}

function storeBusy({ what, path, hint = "Retry the call." }: RetryOptions, attempts: number) {
  return new BatonError("store_busy", {
    message: `${what} ${attempts} times by other writers.`,
    ...(path === undefined ? {} : { path }),
    hint,
  });
}
