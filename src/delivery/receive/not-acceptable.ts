/** What a receiver is told that asked for one particular delivery, and did not get it. */
import { BatonError } from "../../base/errors.ts";
import type { Delivery } from "../../history/delivery.ts";
import { isForever } from "../settings/policy.ts";
import { type InboxOwner, inboxesOf } from "../watch/inbox-listing.ts";

export function notAcceptable(receiver: InboxOwner, delivery: Delivery): BatonError {
  const { id, state } = delivery;
  return new BatonError("not_open", {
    message: `${id} cannot be accepted by ${receiver.agent}: ${refusalReason(receiver, delivery)}.`,
    path: "delivery",
    hint: "Look at what waits for you in the inbox.",
    details: {
      delivery: id,
      state,
      receiver: delivery.receiver,
      ...(delivery.holder !== undefined && { holder: delivery.holder }),
    },
  });
}

function refusalReason(
  receiver: InboxOwner,
  { state, holder, readyAt, inTurn, ...row }: Delivery,
): string {
  if (!inboxesOf(receiver).includes(row.receiver)) return `it is for ${row.receiver}`;
  if (state === "claimed" || state === "accepted") return `${holder} has it`;
  if (state === "scheduled") {
    return readyAt === undefined || isForever(readyAt)
      ? "it waits for other handoffs, or for a decision"
      : `it is not due before ${new Date(readyAt).toISOString()}`;
  }
  if (state !== "ready") return `it is ${state}`;
  if (!inTurn) return "an earlier handoff of the same task comes first";
  return "another took it, or the receiver is paused";
}
