/** An offer that a hub over HTTP has claimed for this receiver, to accept or to leave. */

import { isBatonError } from "../base/errors.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { Receipt, ReceiptSource } from "../delivery/receive/receipt.ts";
import { checkedReceipt } from "../delivery/receive/receive-options.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import type { HeldDelivery } from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import type { OfferForm, WorkForm } from "../hub/forms.ts";
import type { Offer } from "../hub/offer.ts";
import type { Settled, Work } from "../hub/work.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import type { Station } from "./session.ts";
import { RemoteWork } from "./work.ts";

export class RemoteOffer<T = unknown> implements Offer<T> {
  readonly #station: Station;
  #form: OfferForm;

  constructor(station: Station, form: OfferForm) {
    this.#station = station;
    this.#form = form;
  }

  get id(): string {
    return this.#form.delivery.id;
  }

  get task(): string {
    return this.#form.delivery.task;
  }

  get from(): string {
    return this.#form.delivery.sender;
  }

  get delivery(): HeldDelivery {
    return this.#form.delivery;
  }

  get handle(): string {
    return this.#form.handle;
  }

  toJSON(): OfferForm {
    return this.#form;
  }

  get envelope(): EnvelopeOf<T> {
    return this.#form.envelope as EnvelopeOf<T>;
  }

  get primer(): string {
    return this.#form.primer;
  }

  get attempts(): readonly EarlierAttempt[] {
    return this.#form.attempts;
  }

  get progress(): readonly LedgerProgress[] {
    return this.#form.progress;
  }

  async warnings(): Promise<readonly Warning[]> {
    return this.#station.wire.call("deliveries.warnings", { id: this.id });
  }

  async conflicts(): Promise<readonly ReservationConflict[]> {
    return this.#station.wire.call("offer.conflicts", { handle: this.handle });
  }

  async accept(options: { readonly receipt?: ReceiptSource } = {}): Promise<Work<T>> {
    const receipt = checkedReceipt(options);
    if (receipt !== undefined || this.#form.envelope.receipt) await this.refresh();
    for (;;) {
      const { id } = this.#form.envelope;
      try {
        return await this.#accepted(receiptIn(receipt, this.#form.envelope));
      } catch (error) {
        if (!isBatonError(error) || error.code !== "receipt_required") throw error;
        await this.refresh();
        // Made for an envelope that was added to meanwhile: made anew, it may fit.
        if (typeof receipt !== "function" || this.#form.envelope.id === id) throw error;
      }
    }
  }

  async decline(reason: string): Promise<Settled> {
    const { handle, envelope } = this.#form;
    const said = { handle, envelope: envelope.id, reason };
    try {
      const settled = await this.#station.wire.call<Settled>("offer.decline", said);
      this.#station.hands?.letGo(handle);
      return settled;
    } catch (error) {
      if (isBatonError(error) && error.code === "work_extended") await this.refresh();
      throw error;
    }
  }

  async release(): Promise<void> {
    await this.#station.wire.call("offer.release", { handle: this.handle });
    this.#station.hands?.letGo(this.handle);
  }

  async #accepted(receipt: Receipt | undefined): Promise<Work<T>> {
    const said = { handle: this.handle, ...(receipt === undefined ? {} : { receipt }) };
    return new RemoteWork<T>(
      this.#station,
      await this.#station.wire.call<WorkForm>("offer.accept", said),
    );
  }

  async refresh(): Promise<void> {
    this.#form = await this.#station.wire.call("offer.refresh", { handle: this.handle });
  }
}

const receiptIn = (source: ReceiptSource | undefined, envelope: Envelope): Receipt | undefined =>
  typeof source === "function" ? source(envelope) : source;
