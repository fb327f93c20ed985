/**
 * Long polling: holds a response until there is something to return or the caller's `waitMs` has passed.
 * Capped below the idle timeout of common proxies; a caller that wants to wait longer calls again.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { parseOrThrow } from "../envelope/violations.ts";

/** Proxies close connections after 30 seconds without traffic; the rest is for the response to arrive. */
const LONGEST_WAIT_MS = 25_000;

const Milliseconds = z.int().min(0);

/** The input field of operations that can wait. */
export const WAIT_FIELDS = {
  waitMs: Milliseconds.max(LONGEST_WAIT_MS).optional().meta({
    description: "How long to wait for something to return, in milliseconds (default: 0)",
  }),
};

/** Returns the checked `waitMs` (default: 0). Throws limit_exceeded above the maximum. */
export function parseWaitMs(waitMs: number | undefined): number {
  const how = { code: "invalid_input", what: "The wait", prefix: "waitMs" } as const;
  const asked = parseOrThrow(Milliseconds, waitMs ?? 0, how);
  if (asked <= LONGEST_WAIT_MS) return asked;
  throw new BatonError("limit_exceeded", {
    message: `waitMs is ${asked}; the maximum is ${LONGEST_WAIT_MS}.`,
    path: "waitMs",
    hint: "Pass a smaller waitMs, and call again if nothing was returned.",
    details: { limit: "waitMs", max: LONGEST_WAIT_MS, actual: asked },
  });
}

/** How an operation waits. */
export interface LongPoll {
  /** False: check once and return. */
  readonly wait: boolean;
  /** Aborted when the time is up or the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Runs `run` with a signal that aborts after `waitMs` or when the caller disconnects. */
export async function withLongPoll<T>(
  signal: AbortSignal,
  waitMs: number | undefined,
  run: (waiting: LongPoll) => Promise<T>,
): Promise<T> {
  const ms = parseWaitMs(waitMs);
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await run({ wait: ms > 0, signal: over.signal });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}
