/** `agent.inbox()`: yields deliveries as they arrive, each claimed for its receiver. */
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkInboxOptions, type InboxOptions } from "./receive-options.ts";
import { waitForDelivery } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

/**
 * Claims deliveries one by one until nothing is ready (`wait: false`), or until the signal or timeout ends
 * it.
 */
export async function* claimFromInbox(
  workspace: Workspace,
  receiver: Worker,
  options: InboxOptions,
): AsyncGenerator<DeliveryWithEnvelopeRow, void, undefined> {
  const { task, wait, signal } = checkInboxOptions(options);
  for (;;) {
    const claimed = await waitForDelivery(workspace, receiver, { task }, { wait, signal });
    if (claimed === undefined) return;
    yield claimed;
  }
}
