/** An offer over HTTP: a claimed handoff to accept, decline or release. */

import { isBatonError } from "../base/errors.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { Receipt, ReceiptSource } from "../delivery/receive/receipt.ts";
import { checkReceiptOption } from "../delivery/receive/receive-options.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import type { HeldDelivery } from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import type { Offer } from "../hub/offer.ts";
import type { SerializedOffer, SerializedWork } from "../hub/serialized.ts";
import type { SettleResult, Work } from "../hub/work.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import type { SessionConnection } from "./session-connection.ts";
import { RemoteWork } from "./work.ts";

/** Implements Offer over HTTP. */
export class RemoteOffer<T = unknown> implements Offer<T> {
  readonly #session: SessionConnection;
  #form: SerializedOffer;

  constructor(session: SessionConnection, form: SerializedOffer) {
    this.#session = session;
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

  toJSON(): SerializedOffer {
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
    return this.#session.wire.call("deliveries.warnings", { id: this.id });
  }

  async conflicts(): Promise<readonly ReservationConflict[]> {
    return this.#session.wire.call("offer.conflicts", { handle: this.handle });
  }

  async accept(options: { readonly receipt?: ReceiptSource } = {}): Promise<Work<T>> {
    const receipt = checkReceiptOption(options);
    if (receipt !== undefined || this.#form.envelope.receipt) await this.refresh();
    for (;;) {
      const { id } = this.#form.envelope;
      try {
        return await this.#accepted(receiptFor(receipt, this.#form.envelope));
      } catch (error) {
        if (!isBatonError(error) || error.code !== "receipt_required") throw error;
        await this.refresh();
        // The sender extended it meanwhile: a receipt for the new envelope may match.
        if (typeof receipt !== "function" || this.#form.envelope.id === id) throw error;
      }
    }
  }

  async decline(reason: string): Promise<SettleResult> {
    const { handle, envelope } = this.#form;
    const input = { handle, envelope: envelope.id, reason };
    try {
      const settled = await this.#session.wire.call<SettleResult>("offer.decline", input);
      this.#session.handles?.forget(handle);
      return settled;
    } catch (error) {
      if (isBatonError(error) && error.code === "work_extended") await this.refresh();
      throw error;
    }
  }

  async release(): Promise<void> {
    await this.#session.wire.call("offer.release", { handle: this.handle });
    this.#session.handles?.forget(this.handle);
  }

  async #accepted(receipt: Receipt | undefined): Promise<Work<T>> {
    const said = { handle: this.handle, ...(receipt === undefined ? {} : { receipt }) };
    return new RemoteWork<T>(
      this.#session,
      await this.#session.wire.call<SerializedWork>("offer.accept", said),
    );
  }

  async refresh(): Promise<void> {
    this.#form = await this.#session.wire.call("offer.refresh", { handle: this.handle });
  }
}

const receiptFor = (source: ReceiptSource | undefined, envelope: Envelope): Receipt | undefined =>
  typeof source === "function" ? source(envelope) : source;
