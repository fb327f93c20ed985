/** An offer: a delivery the inbox has claimed for this receiver, to accept or to leave. */

import { primerOf } from "../context/view/primer.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import { conflictsAhead } from "../coordination/reservations/reserve.ts";
import { acceptOffer, TAKING, TakingSchema } from "../delivery/receive/accept.ts";
import type { ReceiptSource } from "../delivery/receive/receipt.ts";
import type { Worker } from "../delivery/receive/worker.ts";
import { decline, releaseNewest } from "../delivery/settle/settle.ts";
import { handleOf } from "../delivery/work/resume.ts";
import { type Warning, warningsOf } from "../delivery/work/warnings.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { type Background, backgroundOf } from "../history/background.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import { needsReceipt, parseEnvelope } from "../store/parse-envelope.ts";
import type { DeliveryRow, EnvelopeRow } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { OfferForm } from "./forms.ts";
import type { Public } from "./public.ts";
import { LocalWork, type Settling, type Work } from "./work.ts";

/** What the inbox has for a receiver, to accept or to leave. */
export type Offer<T = unknown> = Public<LocalOffer<T>>;

export class LocalOffer<T = unknown> {
  readonly #workspace: Workspace;
  readonly #receiver: Worker;
  #claimed: Claimed;
  #envelope: EnvelopeOf<T> | undefined;
  readonly #background: Background;

  private constructor(
    workspace: Workspace,
    receiver: Worker,
    claimed: Claimed,
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
    claimed: Claimed,
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

  get delivery(): DeliveryRow {
    return this.#claimed.delivery;
  }

  /** By which it is answered later, or from elsewhere. */
  get handle(): string {
    return handleOf(this.#claimed.delivery);
  }

  /** As it travels. */
  toJSON(): OfferForm {
    const { handle, delivery } = this;
    return { handle, delivery, envelope: this.envelope as Envelope, ...this.#background };
  }

  /** Parsed when it is first looked at. */
  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#workspace, this.#claimed.envelope) as EnvelopeOf<T>;
    return this.#envelope;
  }

  /** What to know before the first step, in less than two kilobytes. */
  get primer(): string {
    return primerOf(this.envelope as Envelope, this.#receiver, this.#background);
  }

  /** Earlier attempts at it, oldest first: what was tried, why it ended, questions and answers. */
  get attempts(): readonly EarlierAttempt[] {
    return this.#background.attempts;
  }

  /** What earlier handoffs of the task reported as done, not to be redone, or blocked. */
  get progress(): readonly LedgerProgress[] {
    return this.#background.progress;
  }

  /** Tried before: whoever had it may have done part of it. */
  get redelivered(): boolean {
    return this.#claimed.delivery.attempt > 1;
  }

  /** What it carries that is quarantined: not to be built on. */
  warnings(): Promise<readonly Warning[]> {
    return warningsOf(this.#workspace, this.#claimed);
  }

  /** Who works on what this handoff says its work will touch. */
  conflicts(): Promise<readonly ReservationConflict[]> {
    return conflictsAhead(this.#workspace, this.#claimed, this.#receiver);
  }

  /** Takes it. Where the handoff requires a receipt, only with one that fits. */
  async accept(options: { readonly receipt?: ReceiptSource } = {}): Promise<Work<T>> {
    const { receipt } = parseOr(TakingSchema, options, TAKING);
    const { envelope } = this.#claimed;
    if (receipt !== undefined || needsReceipt(this.#workspace, envelope)) await this.#refresh();
    const accepted = await acceptOffer(this.#workspace, this.#receiver, this.#claimed, receipt);
    return LocalWork.begin<T>(this.#workspace, this.#receiver, accepted, this.#background);
  }

  /** Refuses it for good. Told of an addition by the sender, look at that first. */
  async decline(reason: string): Promise<Settling<T>> {
    const outcome = await decline(this.#workspace, this.#receiver, this.#claimed, reason);
    if (outcome.kind === "settled") return outcome;
    this.#goOnTo(outcome.envelope);
    return { kind: "extended", envelope: this.envelope };
  }

  /** Puts it back for another session of this agent. Having looked at it does not count as a try. */
  async release(): Promise<void> {
    await releaseNewest(this.#workspace, this.#receiver, this.#claimed);
  }

  /** A receipt is for the newest envelope, and who is told that it does not fit can look at that. */
  async #refresh(): Promise<void> {
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    if (found !== undefined) this.#goOnTo(found.envelope);
  }

  #goOnTo(envelope: EnvelopeRow): void {
    if (envelope.id === this.#claimed.envelope.id) return;
    this.#claimed = { ...this.#claimed, envelope };
    this.#envelope = undefined;
  }
}
