/**
 * Claiming one offer, for doors that pass it on. One that cannot be read here could not be passed on: it is
 * put back, for who can read it, and holds up nothing that comes after it.
 */
import * as z from "zod";
import { DeliveryId, Name } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import type { Claimed } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { releaseNewest } from "../settle/settle.ts";
import { inboxesOf } from "../watch/inbox-listing.ts";
import { isUnreadable, readableIn, readableOf } from "../watch/unreadable-envelopes.ts";
import { type LookoutOptions, lookOut } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

const WhichSchema = z.strictObject({
  /** This one, by its id. */
  delivery: DeliveryId.optional(),
  /** Only a handoff of this task. */
  task: Name.optional(),
});
export type Which = z.input<typeof WhichSchema>;

export async function claimNext(
  workspace: Workspace,
  receiver: Worker,
  which: Which,
  waiting: LookoutOptions,
): Promise<Claimed | undefined> {
  const asked = parseOr(WhichSchema, which, { code: "invalid_input", what: "The choice" });
  const first = await lookOut(workspace, receiver, asked, waiting);
  if (first === undefined) return undefined;
  try {
    return readableOf(workspace, [first])[0];
  } catch (error) {
    await releaseNewest(workspace, receiver, first);
    if (asked.delivery !== undefined || !isUnreadable(error)) throw error;
    for (const delivery of await readableIn(workspace, inboxesOf(receiver), asked.task)) {
      const next = await lookOut(workspace, receiver, { ...asked, delivery }, { wait: false });
      if (next !== undefined) return next;
    }
    throw error;
  }
}
