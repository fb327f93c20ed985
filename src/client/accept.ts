/**
 * Accepting over HTTP. Without a wait the hub does it in one step; who waits, or makes the receipt from
 * the envelope, claims first: so nothing is accepted for somebody who has stopped waiting.
 */
import type { checkedChoice } from "../delivery/accept.ts";
import type { OfferForm } from "../delivery/forms.ts";
import { isLoss, type Work } from "../delivery/work.ts";
import { claimNext } from "./claims.ts";
import { RemoteOffer } from "./offer.ts";
import type { Station } from "./station.ts";
import { RemoteWork } from "./work.ts";

type Choice = ReturnType<typeof checkedChoice>;

export async function acceptNext<T>(
  station: Station,
  { delivery, receipt, task, wait, signal }: Choice,
): Promise<Work<T> | undefined> {
  if (!wait && typeof receipt !== "function") {
    const { work } = await station.wire.call("accept", { delivery, receipt, task });
    return work === null ? undefined : new RemoteWork<T>(station, work);
  }
  for (;;) {
    const offer = await claimNext(station.wire, { delivery, task }, { wait, signal });
    if (offer === undefined) return undefined;
    const work = await taken<T>(station, offer, receipt);
    if (work !== undefined) return work;
  }
}

/** Undefined when it was taken back in between; what is refused goes back for others. */
async function taken<T>(
  station: Station,
  form: OfferForm,
  receipt: Choice["receipt"],
): Promise<Work<T> | undefined> {
  const offer = new RemoteOffer<T>(station, form);
  try {
    return await offer.accept(receipt === undefined ? {} : { receipt });
  } catch (error) {
    if (isLoss(error)) return undefined;
    await offer.release();
    throw error;
  }
}
