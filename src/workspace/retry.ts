/**
 * Retries of optimistic writes: read, decide, write only if nothing has changed since. When another process
 * was faster, the whole attempt is made again from what there is now.
 */
import { BatonError } from "../base/errors.ts";

/** Returned by an attempt that has to be made again: it was overtaken, or there is more to do. */
export const RETRY = Symbol("retry");
export type Retry = typeof RETRY;

const ATTEMPTS = 20;

export interface RetryOptions {
  /** What happened that often, such as `The ledger of "x" was changed`. */
  readonly what: string;
  /** Default: 20. */
  readonly attempts?: number;
  readonly path?: string;
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

function storeBusy({ what, path, hint = "Try again." }: RetryOptions, attempts: number) {
  return new BatonError("store_busy", {
    message: `${what} ${attempts} times by others.`,
    ...(path === undefined ? {} : { path }),
    hint,
  });
}
