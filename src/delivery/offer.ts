/** An offer: a delivery the inbox has claimed for this receiver, to accept or to leave. */
import type { EnvelopeOf } from "../envelope/schema.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { acceptOffer, parseEnvelope } from "./accept.ts";
import { decline, releaseNewest } from "./settle.ts";
import { type Settling, Work } from "./work.ts";
import type { Worker } from "./worker.ts";

export class Offer<T = unknown> {
  readonly #workspace: Workspace;
  readonly #receiver: Worker;
  #claimed: Claimed;
  #envelope: EnvelopeOf<T> | undefined;

  constructor(workspace: Workspace, receiver: Worker, claimed: Claimed) {
    this.#workspace = workspace;
    this.#receiver = receiver;
    this.#claimed = claimed;
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

  /** Parsed when it is first looked at. */
  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#claimed.envelope) as EnvelopeOf<T>;
    return this.#envelope;
  }

  async accept(): Promise<Work<T>> {
    const accepted = await acceptOffer(this.#workspace, this.#receiver, this.#claimed);
    return new Work<T>(this.#workspace, this.#receiver, accepted);
  }

  /** Refuses it for good. Told of an addition by the sender, look at that first. */
  async decline(reason: string): Promise<Settling<T>> {
    const outcome = await decline(this.#workspace, this.#receiver, this.#claimed, reason);
    if (outcome.kind === "settled") return outcome;
    this.#claimed = { ...this.#claimed, envelope: outcome.envelope };
    this.#envelope = undefined;
    return { kind: "extended", envelope: this.envelope };
  }

  /** Puts it back for another session of this agent. */
  async release(): Promise<void> {
    await releaseNewest(this.#workspace, this.#receiver, this.#claimed);
  }
}
