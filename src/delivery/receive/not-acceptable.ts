/** The error for a receiver that requested a particular delivery which it cannot accept now. */
import { BatonError } from "../../base/errors.ts";
import type { Delivery } from "../../history/delivery.ts";
import { isForever } from "../settings/policy.ts";
import { type InboxOwner, inboxesOf } from "../watch/inbox-listing.ts";

/** Returns the `not_open` error with the reason why the receiver cannot accept the delivery. */
export function notAcceptable(receiver: InboxOwner, delivery: Delivery): BatonError {
  const { id, state } = delivery;
  return new BatonError("not_open", {
    message: `${id} cannot be accepted by ${receiver.agent}: ${refusalReason(receiver, delivery)}.`,
    path: "delivery",
    hint: "List the deliveries you can accept: agent.deliveries.waiting().",
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
  if (!inboxesOf(receiver).includes(row.receiver)) return `it is addressed to ${row.receiver}`;
  if (state === "claimed" || state === "accepted") return `${holder} holds it`;
  if (state === "scheduled") {
    return readyAt === undefined || isForever(readyAt)
      ? "it waits for other handoffs or for a decision"
      : `it is scheduled for ${new Date(readyAt).toISOString()}`;
  }
  if (state !== "ready") return `it is ${state}`;
  if (!inTurn) return "an earlier handoff of the same task comes first";
  return "another agent claimed it, or the receiver is paused";
}
