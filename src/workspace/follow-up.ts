/**
 * Runs the follow-up of a write that is already durable. If it fails, the caller of the write gets no error;
 * the error is published as `{ what, error }` on the diagnostics channel `batonpass:policy:unfinished`.
 */
import { channel } from "node:diagnostics_channel";
import { isBatonError } from "../base/errors.ts";

const unfinishedChannel = channel("batonpass:policy:unfinished");

/**
 * Runs a follow-up; publishes a `BatonError` instead of throwing it. Other errors are bugs and are thrown.
 */
export async function runFollowUp(what: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isBatonError(error)) throw error;
    reportUnfinished(what, error);
  }
}

/** Publishes an error of work that has no caller. */
export function reportUnfinished(what: string, error: unknown): void {
  unfinishedChannel.publish({ what, error });
}
