/**
 * `Sent`: a handoff after it was sent, with its sealed envelope and methods to follow its delivery; interface
 * and local implementation.
 */

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

/**
 * A handoff that was sent. Everything it wrote is on disk.
 *
 * ```ts
 * const sent = await agent.handoff({ task: "report", to: "reviewer", intent: "Review the report." });
 * const outcome = await sent.completed();
 * if (outcome.kind === "completed") console.log(outcome.result);
 * ```
 */
export interface Sent<T = unknown> {
  readonly kind: "sent";
  /** The id of the delivery; of a publication, the id of the first one. */
  readonly id: string;
  /** The name of the task. */
  readonly task: string;
  /** The sealed envelope. */
  readonly envelope: EnvelopeOf<T>;
  /** The SHA-256 of the envelope's canonical JSON. */
  readonly digest: string;
  /** The id of the handoff record on the chain. */
  readonly memory: string;
  /** Whether this is new work, was merged into open work, or repeats a handoff with the same key. */
  readonly joined: SentHandoff<T>["joined"];
  /** The handoffs since the task was here before with the same payload. Empty if there is no cycle. */
  readonly cycle: NonNullable<Envelope["path"]>;
  /** True if the task has more hops than `limits.hops` allows; the delivery is a dead letter. */
  readonly stopped: boolean;
  /** Secrets that were removed from the input, by kind and path. */
  readonly secrets: readonly DetectedSecret[];
  /**
   * What the lint found, each with a hint. Excludes the rules that query the store; `handoffs.lintSent()`
   * runs all.
   */
  readonly findings: readonly Finding[];
  /** Open or completed handoffs that this one repeats, newest first. */
  readonly repeats: readonly Repeat[];
  /** Deprecated fields that the draft uses, and what to use instead. */
  readonly deprecated: readonly DeprecatedField[];
  /** One `Sent` per receiver; each delivery of a publication has a separate state. */
  readonly each: readonly Sent<T>[];
  /** The inboxes it was delivered to: agent ids or `role:…`. */
  readonly receivers: readonly string[];
  /** Returns all of the above as plain data. */
  toJSON(): SerializedSent;
  /**
   * Returns the current state of the delivery, with the times at which it was stored, seen, accepted and
   * settled. Throws `invalid_input` if there are several receivers; use `each`.
   */
  status(): Promise<Delivery>;
  /** Yields the delivery now and after every change, until it is settled or the wait ends. */
  changes(options?: WaitOptions): AsyncGenerator<Delivery, void, undefined>;
  /**
   * Waits until the handoff is accepted or can no longer be accepted. Default timeout: 15 s, or no limit if
   * its policy has `acceptMs`. Returns `kind: "timeout"` if the time passes.
   */
  accepted(options?: WaitOptions): Promise<AcceptedOutcome>;
  /**
   * Waits until the handoff is settled or the receiver asks a question, and returns the result or the reason.
   * With `line: true`, waits for the end of the whole line. Default timeout: none.
   */
  completed(options?: CompletedOptions): Promise<CompletedOutcome>;
  /** Cancels the handoff and notifies its holder. Returns false if it was settled already. */
  cancel(reason: string): Promise<boolean>;
}

/** The sent handoff of a hub in this process. */
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

  get memory(): string {
    return this.#sent.memory;
  }

  get joined(): SentHandoff<T>["joined"] {
    return this.#sent.joined;
  }

  get cycle(): NonNullable<Envelope["path"]> {
    return this.#sent.cycle;
  }

  get stopped(): boolean {
    return this.#sent.stopped;
  }

  get secrets(): readonly DetectedSecret[] {
    return this.#sent.secrets ?? [];
  }

  /** Runs the lint on first access. */
  get findings(): readonly Finding[] {
    this.#findings ??= this.#sent.lint(this.secrets);
    return this.#findings;
  }

  get repeats(): readonly Repeat[] {
    return this.#sent.repeats;
  }

  get deprecated(): readonly DeprecatedField[] {
    return deprecationsIn(this.#sent.envelope as Envelope, this.#workspace.versions);
  }

  get each(): readonly Sent<T>[] {
    return this.#sent.deliveries.map(
      (delivery) =>
        new LocalSent<T>(this.#workspace, this.#sender, { ...this.#sent, deliveries: [delivery] }),
    );
  }

  get receivers(): readonly string[] {
    return this.#sent.deliveries.map(({ receiver }) => receiver);
  }

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

  async status(): Promise<Delivery> {
    for await (const { delivery } of watchDelivery(this.#workspace, this.#single(), {})) {
      return deliveryOf(delivery);
    }
    throw new Error("watchDelivery() ended without yielding the delivery");
  }

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

  async accepted(options: WaitOptions = {}): Promise<AcceptedOutcome> {
    const { timeoutMs = defaultAcceptWait(this.#sent.envelope), signal } =
      checkWaitOptions(options);
    return awaitAccepted(this.#workspace, this.#single(), { timeoutMs, signal });
  }

  async completed(options: CompletedOptions = {}): Promise<CompletedOutcome> {
    return awaitCompleted(this.#workspace, this.#single(), options);
  }

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
