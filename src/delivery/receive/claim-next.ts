/**
 * Claiming one offer, for doors that pass it on. One that cannot be read here could not be passed on: it is
 * put back, for who can read it, and holds up nothing that comes after it.
 */
import * as z from "zod";
import { DeliveryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { releaseNewest } from "../settle/settle.ts";
import { inboxesOf } from "../watch/inbox-listing.ts";
import {
  filterReadable,
  isUnreadable,
  listReadableDeliveries,
} from "../watch/unreadable-envelopes.ts";
import { type ClaimWaitOptions, waitForDelivery } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

const ClaimFilterSchema = z.strictObject({
  /** This one, by its id. */
  delivery: DeliveryId.optional(),
  /** Only a handoff of this task. */
  task: Name.optional(),
});
export type ClaimFilter = z.input<typeof ClaimFilterSchema>;

export async function claimNext(
  workspace: Workspace,
  receiver: Worker,
  which: ClaimFilter,
  waiting: ClaimWaitOptions,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const asked = parseOrThrow(ClaimFilterSchema, which, {
    code: "invalid_input",
    what: "The choice",
  });
  const first = await waitForDelivery(workspace, receiver, asked, waiting);
  if (first === undefined) return undefined;
  try {
    return filterReadable(workspace, [first])[0];
  } catch (error) {
    await releaseNewest(workspace, receiver, first);
    if (asked.delivery !== undefined || !isUnreadable(error)) throw error;
    for (const delivery of await listReadableDeliveries(
      workspace,
      inboxesOf(receiver),
      asked.task,
    )) {
      const next = await waitForDelivery(
        workspace,
        receiver,
        { ...asked, delivery },
        { wait: false },
      );
      if (next !== undefined) return next;
    }
    throw error;
  }
}
