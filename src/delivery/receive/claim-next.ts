/**
 * Claims one offer for the interfaces that pass it on (HTTP, MCP, CLI). A delivery that this version cannot
 * read could not be passed on: it is released for a receiver that can read it, and does not block those after
 * it.
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
  /** Only the delivery with this id. */
  delivery: DeliveryId.optional(),
  /** Only a handoff of this task. */
  task: Name.optional(),
});
/** Which delivery to claim; default: the next ready one. */
export type ClaimFilter = z.input<typeof ClaimFilterSchema>;

/**
 * Claims the next readable delivery; undefined if there is none. Throws `unsupported_version` if all are
 * unreadable.
 */
export async function claimNext(
  workspace: Workspace,
  receiver: Worker,
  which: ClaimFilter,
  waiting: ClaimWaitOptions,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const asked = parseOrThrow(ClaimFilterSchema, which, {
    code: "invalid_input",
    what: "The claim filter",
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
