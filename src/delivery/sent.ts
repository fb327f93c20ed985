/** What the sender has in hand after sending: the sealed envelope, and how to ask where it is. */
import type { EnvelopeOf } from "../envelope/schema.ts";
import { BatonError } from "../errors.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import type { SentHandoff } from "./send.ts";

export class Sent<T = unknown> {
  readonly kind = "sent";
  readonly #workspace: Workspace;
  readonly #sent: SentHandoff<T>;

  constructor(workspace: Workspace, sent: SentHandoff<T>) {
    this.#workspace = workspace;
    this.#sent = sent;
  }

  /** The delivery's id. */
  get id(): string {
    return this.#sent.delivery.id;
  }

  get task(): string {
    return this.#sent.envelope.task;
  }

  get envelope(): EnvelopeOf<T> {
    return this.#sent.envelope;
  }

  get digest(): string {
    return this.#sent.digest;
  }

  /** The handoff record on the chain. */
  get memory(): string {
    return this.#sent.memory;
  }

  /** Whether this was new work, or took the place of, or added to, work that was open. */
  get joined(): SentHandoff<T>["joined"] {
    return this.#sent.joined;
  }

  /** Where it stands now. */
  async status(): Promise<DeliveryRow> {
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    if (found !== undefined) return found.delivery;
    throw new BatonError("unknown_delivery", {
      message: `No delivery has the id ${this.id}.`,
      hint: "Was the store replaced by an older copy?",
    });
  }
}
