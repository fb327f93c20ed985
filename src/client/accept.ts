/**
 * Accepting over HTTP: the hub does it in one step. A receipt that is made from the envelope is made at
 * this end, so that one is looked at first; nothing is taken where making it fails.
 */

import { isBatonError } from "../base/errors.ts";
import type { Page } from "../base/page.ts";
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { checkedAccept } from "../delivery/receive/receive-options.ts";
import type { Waiting } from "../delivery/watch/inbox-listing.ts";
import type { Shown } from "../delivery/watch/show.ts";
import type { Envelope } from "../envelope/schema.ts";
import type { OfferForm, WorkForm } from "../hub/forms.ts";
import type { Work } from "../hub/work.ts";
import { isLoss } from "../hub/work-rules.ts";
import { acceptFirst, claimNext } from "./claims.ts";
import { RemoteOffer } from "./offer.ts";
import type { Station } from "./session.ts";
import { RemoteWork } from "./work.ts";

type Choice = ReturnType<typeof checkedAccept>;
type Maker = (envelope: Envelope) => Receipt | undefined;

export async function acceptNext<T>(
  station: Station,
  { receipt, wait, signal, ...which }: Choice,
): Promise<Work<T> | undefined> {
  if (typeof receipt !== "function") {
    const form = await acceptFirst(station, { ...which, receipt }, { wait, signal });
    return form && new RemoteWork<T>(station, form);
  }
  const found = await acceptWaiting(station, which, receipt);
  if (found !== undefined || !wait) return found && new RemoteWork<T>(station, found);
  for (;;) {
    const offer = await claimNext(station, which, { wait, signal });
    if (offer === undefined) return undefined;
    const work = await taken<T>(station, offer, receipt);
    if (work !== undefined) return work;
  }
}

/** Of what waits, the first that is there to be taken. */
async function acceptWaiting(
  station: Station,
  { delivery, task }: Pick<Choice, "delivery" | "task">,
  make: Maker,
): Promise<WorkForm | undefined> {
  const { items } = await station.wire.call<Page<Waiting>>("deliveries.waiting", { task });
  for (const waiting of items) {
    const { id, state, inTurn } = waiting.delivery;
    if (state !== "ready" || !inTurn || (delivery ?? id) !== id) continue;
    const work = await acceptThis(station, id, waiting.envelope, make);
    if (work !== undefined) return work;
  }
  return undefined;
}

/** Undefined when somebody else was quicker. */
async function acceptThis(
  station: Station,
  delivery: string,
  seen: Envelope,
  make: Maker,
): Promise<WorkForm | undefined> {
  for (let envelope = seen; ; ) {
    try {
      return await acceptFirst(station, { delivery, receipt: make(envelope) }, { wait: false });
    } catch (error) {
      if (!isBatonError(error) || error.code !== "receipt_required") throw error;
      const now = (await station.wire.call<Shown>("deliveries.get", { id: delivery })).envelope;
      if (now.id === envelope.id) throw error;
      envelope = now; // Added to meanwhile: made anew, it may fit.
    }
  }
}

/** Undefined when it was taken back in between; what is refused goes back for others. */
async function taken<T>(
  station: Station,
  form: OfferForm,
  receipt: Maker,
): Promise<Work<T> | undefined> {
  const offer = new RemoteOffer<T>(station, form);
  try {
    return await offer.accept({ receipt });
  } catch (error) {
    if (isLoss(error)) return undefined;
    await offer.release();
    throw error;
  }
}
