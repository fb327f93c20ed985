/** Attempts as callers see them: without the stored form of their reasons. */
import { type AttemptRow, parseText } from "../store/rows.ts";

/** An attempt that ended without completing its delivery. */
export interface Attempt {
  readonly delivery: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** The agent that made it; undefined if the delivery was never claimed. */
  readonly holder?: string;
  /** The session that made it. */
  readonly instance?: string;
  /** Store time in milliseconds. */
  readonly endedAt: number;
  readonly outcome: AttemptRow["outcome"];
  /** What was recorded about its end; empty if nothing was. */
  readonly reason: AttemptReason;
}

/** What was recorded about the end of an attempt. */
export interface AttemptReason {
  readonly message?: string;
  /** The type of the failure, such as "timeout". */
  readonly type?: string;
  /** Why it was declined, cancelled, stopped or expired. */
  readonly reason?: string;
  readonly question?: string;
  readonly [more: string]: unknown;
}

/** Converts a stored attempt. */
export function attemptOf(row: AttemptRow): Attempt {
  const { holder, instance, ...rest } = row;
  return {
    ...rest,
    ...(holder === "" ? {} : { holder }),
    ...(instance === "" ? {} : { instance }),
    reason: reasonOf(row),
  };
}

/** Returns what was recorded about the end of an attempt. */
export function reasonOf(attempt: AttemptRow): AttemptReason {
  if (attempt.reason === "") return {};
  return parseText({ id: `attempt ${attempt.attempt}`, text: attempt.reason });
}
