/** What the sender has in hand after sending: the sealed envelope, and how to learn what comes of it. */

import type { Finding, Repeat } from "../context/lint/rule.ts";
import type { SentHandoff } from "../delivery/send/idempotency-key.ts";
import type { Sender } from "../delivery/send/plan.ts";
import { cancelDeliveries } from "../delivery/settle/cancel.ts";
import {
  type AcceptedOutcome,
  awaitAccepted,
  awaitCompleted,
  type CompletedOutcome,
} from "../delivery/watch/await-outcome.ts";
import {
  type CompletedOptions,
  checkWaitOptions,
  defaultAcceptWait,
  type WaitOptions,
} from "../delivery/watch/wait-options.ts";
import { watchDelivery } from "../delivery/watch/watch.ts";
import { deprecationsIn } from "../envelope/deprecations.ts";
import type { DetectedSecret } from "../envelope/mask-secrets.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import type { DeprecatedField } from "../envelope/versions.ts";
import { type Delivery, deliveryOf } from "../history/delivery.ts";
import { runWithoutSecrets } from "../memory/redaction/secret-policy.ts";
import { isOpen } from "../store/rows.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { SerializedSent } from "./serialized.ts";
import { severalReceivers } from "./several-receivers.ts";

/** A handoff that was sent: once it is returned, everything it wrote is on disk. */
export interface Sent<T = unknown> {
  readonly kind: "sent";
  /** The delivery's id; of a publication, that of the first. */
  readonly id: string;
  readonly task: string;
  readonly envelope: EnvelopeOf<T>;
  readonly digest: string;
  /** The id of the handoff record on the chain. */
  readonly memory: string;
  /** New work, how it joined open work, or the same key again. */
  readonly joined: SentHandoff<T>["joined"];
  /** The handoffs since the task was here before with the same payload; empty: no cycle. */
  readonly cycle: NonNullable<Envelope["path"]>;
  /** The task has more hops than allowed: the delivery is a dead letter. */
  readonly stopped: boolean;
  /** Secrets that were removed from the input, by kind and path. */
  readonly secrets: readonly DetectedSecret[];
  /** What the lint finds, each with a hint; without the rules that query the store. */
  readonly findings: readonly Finding[];
  /** Open or completed handoffs that this one repeats, newest first. */
  readonly repeats: readonly Repeat[];
  /** Deprecated fields it uses, and what to use instead. */
  readonly deprecated: readonly DeprecatedField[];
  /** One for each receiver. */
  readonly each: readonly Sent<T>[];
  /** The inboxes it went to. */
  readonly receivers: readonly string[];
  /** Everything above, as plain data. */
  toJSON(): SerializedSent;
  /** Returns the delivery as it is now. */
  status(): Promise<Delivery>;
  /** Yields the delivery now and after every change, until it is settled. */
  changes(options?: WaitOptions): AsyncGenerator<Delivery, void, undefined>;
  /** Waits until it is accepted or can no longer be. Default: 15 s, or as long as its policy allows. */
  accepted(options?: WaitOptions): Promise<AcceptedOutcome>;
  /** Waits until it is settled, or the receiver asks a question; returns the result or the reason. */
  completed(options?: CompletedOptions): Promise<CompletedOutcome>;
  /** Cancels it; its holder is notified. Returns false if it was settled already. */
  cancel(reason: string): Promise<boolean>;
}

export class LocalSent<T = unknown> implements Sent<T> {
  readonly kind = "sent";
  readonly #workspace: Workspace;
  readonly #sender: Sender;
  readonly #sent: SentHandoff<T>;
  #findings: readonly Finding[] | undefined;

  constructor(workspace: Workspace, sender: Sender, sent: SentHandoff<T>) {
    this.#workspace = workspace;
    this.#sender = sender;
    this.#sent = sent;
  }

  /** The delivery's id; of a publication, that of the first. */
  get id(): string {
    return this.#sent.deliveries[0]?.id ?? "";
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

  /** Whether this was new work, joined work that was open, or was sent before with the same key. */
  get joined(): SentHandoff<T>["joined"] {
    return this.#sent.joined;
  }

  /** The line came here before with the same payload: the handoffs since then; else empty. */
  get cycle(): NonNullable<Envelope["path"]> {
    return this.#sent.cycle;
  }

  /** True: the line is longer than it may be, and has stopped in dead letters. */
  get stopped(): boolean {
    return this.#sent.stopped;
  }

  /** Which secrets were taken out of what was said: of which kind, and where they stood. */
  get secrets(): readonly DetectedSecret[] {
    return this.#sent.secrets ?? [];
  }

  /**
   * What the lint finds in it, each with what to write instead; without the rules that query the store.
   * Looked for when it is first asked for.
   */
  get findings(): readonly Finding[] {
    this.#findings ??= this.#sent.lint(this.secrets);
    return this.#findings;
  }

  /** Open or completed handoffs that it repeats, newest first. */
  get repeats(): readonly Repeat[] {
    return this.#sent.repeats;
  }

  /** Deprecated fields it says something in: since when, and what to say instead. */
  get deprecated(): readonly DeprecatedField[] {
    return deprecationsIn(this.#sent.envelope as Envelope, this.#workspace.versions);
  }

  /** One for each receiver: of a publication, each goes its own way. */
  get each(): readonly Sent<T>[] {
    return this.#sent.deliveries.map(
      (delivery) =>
        new LocalSent<T>(this.#workspace, this.#sender, { ...this.#sent, deliveries: [delivery] }),
    );
  }

  /** Whose inbox it went to. */
  get receivers(): readonly string[] {
    return this.#sent.deliveries.map(({ receiver }) => receiver);
  }

  /** As it travels. */
  toJSON(): SerializedSent {
    const { kind, envelope, digest, memory, joined, cycle, stopped, deliveries } = this.#sent;
    const { deprecated, findings, repeats, secrets } = this;
    return {
      kind,
      envelope: envelope as Envelope,
      digest,
      memory,
      joined,
      cycle,
      stopped,
      deprecated,
      deliveries: deliveries.map(deliveryOf),
      secrets,
      findings,
      repeats,
    };
  }

  /** Where it stands now: stored, seen, accepted, settled are different times. */
  async status(): Promise<Delivery> {
    for await (const { delivery } of watchDelivery(this.#workspace, this.#single(), {})) {
      return deliveryOf(delivery);
    }
    throw new Error("a delivery is always shown once");
  }

  /** The delivery each time it has changed, first as it is now, until it is settled. */
  async *changes(options: WaitOptions = {}): AsyncGenerator<Delivery, void, undefined> {
    for await (const { delivery } of watchDelivery(
      this.#workspace,
      this.#single(),
      checkWaitOptions(options),
    )) {
      yield deliveryOf(delivery);
      if (!isOpen(delivery.state)) return;
    }
  }

  /**
   * Waits until somebody has accepted it, or never will: 15 s unless told, and where a policy says how
   * long each try may take, until that has come to an end.
   */
  async accepted(options: WaitOptions = {}): Promise<AcceptedOutcome> {
    const { timeoutMs = defaultAcceptWait(this.#sent.envelope), signal } =
      checkWaitOptions(options);
    return awaitAccepted(this.#workspace, this.#single(), { timeoutMs, signal });
  }

  /** Waits until it is over, or the receiver asks back; with the result, or why there is none. */
  async completed(options: CompletedOptions = {}): Promise<CompletedOutcome> {
    return awaitCompleted(this.#workspace, this.#single(), options);
  }

  /** Takes it back: whoever has it is told. False when it was over already. */
  async cancel(reason: string): Promise<boolean> {
    const ids = this.#sent.deliveries.map(({ id }) => id);
    return runWithoutSecrets(this.#workspace, { reason }, async ({ reason: why }) => {
      const cancelled = await cancelDeliveries(this.#workspace, this.#sender, ids, why);
      return cancelled.length > 0;
    });
  }

  #single(): string {
    if (this.#sent.deliveries.length === 1) return this.id;
    throw severalReceivers(this.#sent.deliveries.length);
  }
}
