/** A sent handoff over HTTP, through which its sender follows or cancels it. */
import type { AcceptedOutcome, CompletedOutcome } from "../delivery/watch/await-outcome.ts";
import {
  type CompletedOptions,
  checkCompletedOptions,
  checkWaitOptions,
  defaultAcceptWait,
  type WaitOptions,
} from "../delivery/watch/wait-options.ts";
import type { EnvelopeOf } from "../envelope/schema.ts";
import type { Delivery } from "../history/delivery.ts";
import type { Sent } from "../hub/sent.ts";
import type { SerializedSent } from "../hub/serialized.ts";
import { severalReceivers } from "../hub/several-receivers.ts";
import type { Wire } from "./connection/wire.ts";
import { changesOf, waitForAnswer } from "./long-poll.ts";

/** Implements Sent over HTTP. */
export class RemoteSent<T = unknown> implements Sent<T> {
  readonly kind = "sent";
  readonly #wire: Wire;
  readonly #form: SerializedSent;

  constructor(wire: Wire, form: SerializedSent) {
    this.#wire = wire;
    this.#form = form;
  }

  get id(): string {
    return this.#form.deliveries[0]?.id ?? "";
  }

  get task(): string {
    return this.#form.envelope.task;
  }

  get envelope(): EnvelopeOf<T> {
    return this.#form.envelope as EnvelopeOf<T>;
  }

  get digest(): string {
    return this.#form.digest;
  }

  get memory(): string {
    return this.#form.memory;
  }

  get joined(): SerializedSent["joined"] {
    return this.#form.joined;
  }

  get cycle(): SerializedSent["cycle"] {
    return this.#form.cycle;
  }

  get stopped(): boolean {
    return this.#form.stopped;
  }

  get secrets(): SerializedSent["secrets"] {
    return this.#form.secrets;
  }

  get findings(): SerializedSent["findings"] {
    return this.#form.findings;
  }

  get repeats(): SerializedSent["repeats"] {
    return this.#form.repeats;
  }

  get deprecated(): SerializedSent["deprecated"] {
    return this.#form.deprecated;
  }

  get each(): readonly Sent<T>[] {
    return this.#form.deliveries.map(
      (delivery) => new RemoteSent<T>(this.#wire, { ...this.#form, deliveries: [delivery] }),
    );
  }

  get receivers(): readonly string[] {
    return this.#form.deliveries.map(({ receiver }) => receiver);
  }

  toJSON(): SerializedSent {
    return this.#form;
  }

  async status(): Promise<Delivery> {
    return (
      await this.#wire.call<{ delivery: Delivery }>("deliveries.watch", { id: this.#single() })
    ).delivery;
  }

  async *changes(options: WaitOptions = {}): AsyncGenerator<Delivery, void, undefined> {
    yield* changesOf(this.#wire, this.#single(), checkWaitOptions(options));
  }

  async accepted(options: WaitOptions = {}): Promise<AcceptedOutcome> {
    const { timeoutMs = defaultAcceptWait(this.#form.envelope), signal } =
      checkWaitOptions(options);
    return waitForAnswer(
      this.#wire,
      "deliveries.accepted",
      { id: this.#single() },
      { timeoutMs, signal },
    );
  }

  async completed(options: CompletedOptions = {}): Promise<CompletedOutcome> {
    const { line, ...wait } = checkCompletedOptions(options);
    return waitForAnswer(this.#wire, "deliveries.completed", { id: this.#single(), line }, wait);
  }

  async cancel(reason: string): Promise<boolean> {
    const ids = this.#form.deliveries.map(({ id }) => id);
    const taken = ids.map((id) => this.#wire.call<Delivery[]>("deliveries.cancel", { id, reason }));
    return (await Promise.all(taken)).flat().length > 0;
  }

  #single(): string {
    const { deliveries } = this.#form;
    if (deliveries.length === 1) return this.id;
    throw severalReceivers(deliveries.length);
  }
}
