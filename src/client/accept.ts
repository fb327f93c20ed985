/**
 * Accepts work over HTTP, in one call. If the receipt is a function of the envelope it runs in this process,
 * so the envelope is read first; nothing is claimed if the function throws.
 */

import { isBatonError } from "../base/errors.ts";
import type { Page } from "../base/page.ts";
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { checkAcceptOptions } from "../delivery/receive/receive-options.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Envelope } from "../envelope/schema.ts";
import type { SerializedOffer, SerializedWork } from "../hub/serialized.ts";
import type { Work } from "../hub/work.ts";
import { isLeaseLost } from "../hub/work-helpers.ts";
import { claimAndAccept, claimNext } from "./claims.ts";
import { RemoteOffer } from "./offer.ts";
import type { SessionConnection } from "./session-connection.ts";
import { RemoteWork } from "./work.ts";

type AcceptChoice = ReturnType<typeof checkAcceptOptions>;
type ReceiptFactory = (envelope: Envelope) => Receipt | undefined;

/** Accepts the next matching handoff; undefined if there is none or the wait ended. */
export async function acceptNext<T>(
  session: SessionConnection,
  { receipt, wait, signal, ...which }: AcceptChoice,
): Promise<Work<T> | undefined> {
  if (typeof receipt !== "function") {
    const form = await claimAndAccept(session, { ...which, receipt }, { wait, signal });
    return form && new RemoteWork<T>(session, form);
  }
  const found = await acceptFirstReady(session, which, receipt);
  if (found !== undefined || !wait) return found && new RemoteWork<T>(session, found);
  for (;;) {
    const offer = await claimNext(session, which, { wait, signal });
    if (offer === undefined) return undefined;
    const work = await acceptClaimedOffer<T>(session, offer, receipt);
    if (work !== undefined) return work;
  }
}

/** Accepts the first delivery of the inbox that is ready; undefined if none is. */
async function acceptFirstReady(
  session: SessionConnection,
  { delivery, task }: Pick<AcceptChoice, "delivery" | "task">,
  make: ReceiptFactory,
): Promise<SerializedWork | undefined> {
  const { items } = await session.wire.call<Page<DeliveryWithEnvelope>>("deliveries.waiting", {
    task,
  });
  for (const waiting of items) {
    const { id, state, inTurn } = waiting.delivery;
    if (state !== "ready" || !inTurn || (delivery ?? id) !== id) continue;
    const work = await acceptDelivery(session, id, waiting.envelope, make);
    if (work !== undefined) return work;
  }
  return undefined;
}

/** Accepts one delivery; undefined if another session claimed it first. */
async function acceptDelivery(
  session: SessionConnection,
  delivery: string,
  seen: Envelope,
  make: ReceiptFactory,
): Promise<SerializedWork | undefined> {
  for (let envelope = seen; ; ) {
    try {
      return await claimAndAccept(session, { delivery, receipt: make(envelope) }, { wait: false });
    } catch (error) {
      if (!isBatonError(error) || error.code !== "receipt_required") throw error;
      const now = (await session.wire.call<DeliveryDetails>("deliveries.get", { id: delivery }))
        .envelope;
      if (now.id === envelope.id) throw error;
      envelope = now; // The sender extended it meanwhile: a receipt for the new envelope may match.
    }
  }
}

/** Accepts a claimed offer; undefined if its lease was lost. If accepting fails, the offer is released. */
async function acceptClaimedOffer<T>(
  session: SessionConnection,
  form: SerializedOffer,
  receipt: ReceiptFactory,
): Promise<Work<T> | undefined> {
  const offer = new RemoteOffer<T>(session, form);
  try {
    return await offer.accept({ receipt });
  } catch (error) {
    if (isLeaseLost(error)) return undefined;
    await offer.release();
    throw error;
  }
}
