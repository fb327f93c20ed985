/** Looking out for work: looks, and sleeps between two looks (waiters.ts says until when). */
import { isBatonError } from "../../base/errors.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { processDue } from "../due/process-due.ts";
import { type ClaimRequest, claim } from "./claim.ts";
import { findDeadProcesses } from "./dead-processes.ts";
import { waitersFor } from "./inbox-waiters.ts";
import type { Worker } from "./worker.ts";

export interface ClaimWaitOptions {
  /** False: one look is enough. */
  readonly wait: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** Claims the next one; undefined when there is none, or the signal or the hub ended the wait. */
export async function waitForDelivery(
  workspace: Workspace,
  receiver: Worker,
  request: Omit<ClaimRequest, "limit">,
  { wait, signal }: ClaimWaitOptions,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const look = { ...request, limit: 1 };
  if (!wait) return (await claim(workspace, receiver, look)).claimed[0];
  const waiters = waitersFor(workspace, receiver);
  const particular = request.task !== undefined || request.delivery !== undefined;
  let slept = false;
  try {
    while (signal?.aborted !== true) {
      waiters.looking();
      const gone = await findDeadProcesses(workspace);
      if (gone.length > 0) await processDue(workspace, gone);
      const { claimed, nextDueMs } = await claim(workspace, receiver, look);
      if (claimed.length > 0) {
        waiters.found(claimed[0]?.delivery.receiver);
        return claimed[0];
      }
      slept = true;
      await waiters.sleep({ dueMs: nextDueMs, particular, signal });
    }
    waiters.passOn(); // The call that woke it may have been for another.
  } catch (error) {
    if (!(isBatonError(error) && error.code === "store_closed")) throw error;
    waiters.end();
    // A hub that is closed has no more work; only who asks a closed hub anew is told off.
    if (!slept) throw error;
  }
  return undefined;
}
