/**
 * What follows from something that is stored for good. Whoever did that is not told that it failed
 * because of what comes after; whoever subscribes is: `{ what, error }`.
 */
import { channel } from "node:diagnostics_channel";
import { isBatonError } from "../base/errors.ts";

const unfinishedChannel = channel("batonpass:policy:unfinished");

export async function runFollowUp(what: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isBatonError(error)) throw error;
    unfinishedChannel.publish({ what, error });
  }
}
