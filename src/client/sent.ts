/** What the sender has in hand after sending over HTTP. */
import type { AcceptedAnswer, CompletedAnswer } from "../delivery/watch/answers.ts";
import {
  type CompletedOptions,
  checkedCompleted,
  checkedWait,
  defaultAcceptWait,
  type WaitOptions,
} from "../delivery/watch/wait-options.ts";
import type { EnvelopeOf } from "../envelope/schema.ts";
import type { Delivery } from "../history/delivery.ts";
import type { SentForm } from "../hub/forms.ts";
import type { Sent } from "../hub/sent.ts";
import { severalReceivers } from "../hub/several-receivers.ts";
import type { Wire } from "./connection/wire.ts";
import { changesOf, untilSettled } from "./waiting.ts";

export class RemoteSent<T = unknown> implements Sent<T> {
  readonly kind = "sent";
  readonly #wire: Wire;
  readonly #form: SentForm;

  constructor(wire: Wire, form: SentForm) {
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

  get joined(): SentForm["joined"] {
    return this.#form.joined;
  }

  get cycle(): SentForm["cycle"] {
    return this.#form.cycle;
  }

  get stopped(): boolean {
    return this.#form.stopped;
  }

  get secrets(): SentForm["secrets"] {
    return this.#form.secrets;
  }

  get findings(): SentForm["findings"] {
    return this.#form.findings;
  }

  get repeats(): SentForm["repeats"] {
    return this.#form.repeats;
  }

  get deprecated(): SentForm["deprecated"] {
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

  toJSON(): SentForm {
    return this.#form;
  }

  async status(): Promise<Delivery> {
    return (
      await this.#wire.call<{ delivery: Delivery }>("deliveries.watch", { id: this.#single() })
    ).delivery;
  }

  async *changes(options: WaitOptions = {}): AsyncGenerator<Delivery, void, undefined> {
    yield* changesOf(this.#wire, this.#single(), checkedWait(options));
  }

  async accepted(options: WaitOptions = {}): Promise<AcceptedAnswer> {
    const { timeoutMs = defaultAcceptWait(this.#form.envelope), signal } = checkedWait(options);
    return untilSettled(
      this.#wire,
      "deliveries.accepted",
      { id: this.#single() },
      { timeoutMs, signal },
    );
  }

  async completed(options: CompletedOptions = {}): Promise<CompletedAnswer> {
    const { line, ...wait } = checkedCompleted(options);
    return untilSettled(this.#wire, "deliveries.completed", { id: this.#single(), line }, wait);
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
