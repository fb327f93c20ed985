/**
 * `Offer`: a delivery that was claimed for a receiver and not accepted yet, as an interface and its local
 * implementation.
 */

import { primerOf } from "../context/view/primer.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import { findOfferConflicts } from "../coordination/reservations/reserve.ts";
import { acceptOffer } from "../delivery/receive/accept.ts";
import type { ReceiptSource } from "../delivery/receive/receipt.ts";
import { checkReceiptOption } from "../delivery/receive/receive-options.ts";
import type { Worker } from "../delivery/receive/worker.ts";
import { decline, releaseNewest } from "../delivery/settle/settle.ts";
import { workExtended } from "../delivery/work/unseen-envelope.ts";
import { type Warning, warningsOf } from "../delivery/work/warnings.ts";
import { handleOf } from "../delivery/work/work-handle.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import { type Background, backgroundOf } from "../history/background.ts";
import { deliveryOf, type HeldDelivery, heldDeliveryOf } from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import { needsReceipt, parseEnvelope } from "../store/parse-envelope.ts";
import type { EnvelopeRow } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import { drawBoundary } from "../text/fence.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { LocalWork } from "./local-work.ts";
import type { SerializedOffer } from "./serialized.ts";
import type { SettleResult, Work } from "./work.ts";

/**
 * A handoff claimed for this session: accept, decline or release it before its lease ends. Otherwise the
 * claim counts as an attempt.
 */
export interface Offer<T = unknown> {
  /** The id of the delivery. */
  readonly id: string;
  /** The name of the task. */
  readonly task: string;
  /** The id of the agent that sent it. */
  readonly from: string;
  /** The delivery as it was when it was claimed. */
  readonly delivery: HeldDelivery;
  /** Delivery id and fence (`dlv_…#3`), with which another process or a later call can answer the offer. */
  readonly handle: string;
  /** The newest envelope that this receiver has loaded. */
  readonly envelope: EnvelopeOf<T>;
  /** The primer: what to know before the first step, in less than 2 KB. */
  readonly primer: string;
  /** Earlier attempts, oldest first: what was done, why each ended, questions and answers. */
  readonly attempts: readonly EarlierAttempt[];
  /** What earlier handoffs of the task reported as done, not to be redone, or blocked. */
  readonly progress: readonly LedgerProgress[];
  /** Returns all of the above as plain data. */
  toJSON(): SerializedOffer;
  /** Returns the quarantined memories that the handoff carries. */
  warnings(): Promise<readonly Warning[]>;
  /** Returns the agents that hold reservations on files this handoff says its work will touch. */
  conflicts(): Promise<readonly ReservationConflict[]>;
  /**
   * Accepts the offer and returns the work. Throws `receipt_required` if the handoff requires a receipt and
   * none was passed or it does not match, and `lease_lost` if the claim has ended.
   */
  accept(options?: { readonly receipt?: ReceiptSource }): Promise<Work<T>>;
  /**
   * Declines the handoff permanently. Throws `work_extended` if the sender extended it: read `envelope`,
   * which is the new one then, and decline again.
   */
  decline(reason: string): Promise<SettleResult>;
  /** Returns the delivery to the inbox. The claim does not count as an attempt. */
  release(): Promise<void>;
  /** Loads what the sender has added since the claim into `envelope`. */
  refresh(): Promise<void>;
}

/** The offer of a hub in this process. */
export class LocalOffer<T = unknown> implements Offer<T> {
  readonly #workspace: Workspace;
  readonly #receiver: Worker;
  #claimed: DeliveryWithEnvelopeRow;
  #envelope: EnvelopeOf<T> | undefined;
  readonly #background: Background;
  /** The number in the fences of the primer. */
  #boundary: string | undefined;

  private constructor(
    workspace: Workspace,
    receiver: Worker,
    claimed: DeliveryWithEnvelopeRow,
    background: Background,
  ) {
    this.#background = background;
    this.#workspace = workspace;
    this.#receiver = receiver;
    this.#claimed = claimed;
  }

  static async of<T>(
    workspace: Workspace,
    receiver: Worker,
    claimed: DeliveryWithEnvelopeRow,
  ): Promise<LocalOffer<T>> {
    const background = await backgroundOf(workspace, claimed);
    return new LocalOffer<T>(workspace, receiver, claimed, background);
  }

  get id(): string {
    return this.#claimed.delivery.id;
  }

  get task(): string {
    return this.#claimed.delivery.task;
  }

  get from(): string {
    return this.#claimed.delivery.sender;
  }

  get delivery(): HeldDelivery {
    return heldDeliveryOf(this.#claimed.delivery);
  }

  get handle(): string {
    return handleOf(this.#claimed.delivery);
  }

  toJSON(): SerializedOffer {
    const { handle, delivery, primer } = this;
    return { handle, delivery, envelope: this.envelope as Envelope, primer, ...this.#background };
  }

  /** Parses the envelope on first access. */
  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#workspace, this.#claimed.envelope) as EnvelopeOf<T>;
    return this.#envelope;
  }

  get primer(): string {
    this.#boundary ??= drawBoundary(this.#workspace.ids);
    return primerOf(this.envelope as Envelope, {
      receiver: this.#receiver,
      background: this.#background,
      boundary: this.#boundary,
    });
  }

  get attempts(): readonly EarlierAttempt[] {
    return this.#background.attempts;
  }

  get progress(): readonly LedgerProgress[] {
    return this.#background.progress;
  }

  warnings(): Promise<readonly Warning[]> {
    return warningsOf(this.#workspace, this.#claimed);
  }

  conflicts(): Promise<readonly ReservationConflict[]> {
    return findOfferConflicts(this.#workspace, this.#claimed, this.#receiver);
  }

  async accept(options: { readonly receipt?: ReceiptSource } = {}): Promise<LocalWork<T>> {
    const receipt = checkReceiptOption(options);
    const { envelope } = this.#claimed;
    if (receipt !== undefined || needsReceipt(this.#workspace, envelope)) await this.refresh();
    const accepted = await acceptOffer(this.#workspace, this.#receiver, this.#claimed, receipt);
    return LocalWork.begin<T>(this.#workspace, this.#receiver, accepted, this.#background);
  }

  async decline(reason: string): Promise<SettleResult> {
    const outcome = await decline(this.#workspace, this.#receiver, this.#claimed, reason);
    if (outcome.kind === "settled") {
      return { ...outcome, delivery: deliveryOf(outcome.delivery) };
    }
    this.#goOnTo(outcome.envelope);
    throw workExtended(this.id, outcome.envelope.id);
  }

  async release(): Promise<void> {
    await releaseNewest(this.#workspace, this.#receiver, this.#claimed);
  }

  /**
   * A receipt is for the newest envelope; a caller whose receipt does not match can then read that envelope.
   */
  async refresh(): Promise<void> {
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    if (found !== undefined) this.#goOnTo(found.envelope);
  }

  #goOnTo(envelope: EnvelopeRow): void {
    if (envelope.id === this.#claimed.envelope.id) return;
    this.#claimed = { ...this.#claimed, envelope };
    this.#envelope = undefined;
  }
}
