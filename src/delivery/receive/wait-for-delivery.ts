/** Waits for work: polls, and sleeps between two polls until a wake-up (inbox-waiters.ts). */
import { isBatonError } from "../../base/errors.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { processDue } from "../due/process-due.ts";
import { type ClaimRequest, claim } from "./claim.ts";
import { holderWatchOf } from "./holder-watch.ts";
import { waitersFor } from "./inbox-waiters.ts";
import type { Worker } from "./worker.ts";

/** How to wait for a claim. */
export interface ClaimWaitOptions {
  /** False polls once. */
  readonly wait: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Claims the next delivery; undefined if there is none, or if the signal or the closing hub ended the wait.
 */
export async function waitForDelivery(
  workspace: Workspace,
  receiver: Worker,
  request: Omit<ClaimRequest, "limit">,
  { wait, signal }: ClaimWaitOptions,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const query = { ...request, limit: 1 };
  if (!wait) return (await claim(workspace, receiver, query)).claimed[0];
  const waiters = waitersFor(workspace, receiver);
  const holders = holderWatchOf(workspace);
  const particular = request.task !== undefined || request.delivery !== undefined;
  let slept = false;
  try {
    while (signal?.aborted !== true) {
      waiters.looking();
      const gone = await holders.findDead(workspace);
      if (gone.length > 0) await processDue(workspace, { gone });
      const { claimed, nextDueMs } = await claim(workspace, receiver, query);
      if (claimed.length > 0) {
        waiters.found(claimed[0]?.delivery.receiver);
        return claimed[0];
      }
      slept = true;
      await waiters.sleep({ dueMs: nextDueMs, particular, signal });
    }
    waiters.passOn(); // The wake-up may have been meant for another wait.
  } catch (error) {
    if (!(isBatonError(error) && error.code === "store_closed")) throw error;
    waiters.end();
    // Closing the hub ends a wait without an error; only a new call on a closed hub throws.
    if (!slept) throw error;
  }
  return undefined;
}
