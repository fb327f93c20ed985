/**
 * Holding an answer back until there is something to say, for as long as the caller asked for: never
 * longer than what stands between the two lets a quiet connection be. Who wants more asks again.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { parseOrThrow } from "../envelope/violations.ts";

/** Proxies close what is quiet for 30 seconds; the answer needs some of that to arrive. */
const LONGEST_WAIT_MS = 25_000;

const Milliseconds = z.int().min(0);

/** How calls that wait say for how long. */
export const WAIT_FIELDS = {
  waitMs: Milliseconds.max(LONGEST_WAIT_MS).optional().meta({
    description:
      "How long the answer may be held back until there is something to say; 0 unless told",
  }),
};

/** So many milliseconds; none unless told. */
export function parseWaitMs(waitMs: number | undefined): number {
  const how = { code: "invalid_input", what: "The wait", prefix: "waitMs" } as const;
  const asked = parseOrThrow(Milliseconds, waitMs ?? 0, how);
  if (asked <= LONGEST_WAIT_MS) return asked;
  throw new BatonError("limit_exceeded", {
    message: `waitMs: ${asked} is longer than an answer may be held back, which is ${LONGEST_WAIT_MS}.`,
    path: "waitMs",
    hint: "Wait for less, and ask again when there was nothing.",
    details: { limit: "waitMs", max: LONGEST_WAIT_MS, actual: asked },
  });
}

export interface LongPoll {
  /** False: one look is enough. */
  readonly wait: boolean;
  /** Aborted when the time is up, or the caller has gone. */
  readonly signal: AbortSignal;
}

/** Runs what may take until the wait is over. */
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
