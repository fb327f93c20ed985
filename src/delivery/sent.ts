/** What the sender has in hand after sending: the sealed envelope, and how to learn what comes of it. */

import * as z from "zod";
import { deprecationsIn } from "../envelope/deprecations.ts";
import type { Envelope, EnvelopeOf } from "../envelope/schema.ts";
import type { Deprecated } from "../envelope/versions.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import type { Public } from "../public.ts";
import { type DeliveryRow, isOpen } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import { cancelDeliveries } from "./cancel.ts";
import type { SentHandoff } from "./key.ts";
import { endOfLine } from "./line-end.ts";
import { type Ended, endedAs, isEnded } from "./outcome.ts";
import type { Sender } from "./plan.ts";
import { changesOf } from "./watch.ts";

/** How long the sender of a handoff waits to hear that somebody has it, unless told. */
const ACCEPTED_WITHIN_MS = 15_000;

const WaitSchema = z.strictObject({
  /** Ends the wait. */
  signal: z.instanceof(AbortSignal).optional(),
  timeoutMs: z.number().min(0).optional(),
});
export type WaitOptions = z.input<typeof WaitSchema>;

const CompletedSchema = WaitSchema.extend({
  /** True: handed on, it is not over; wait for the end of the line. */
  line: z.boolean().default(false),
});
export type CompletedOptions = z.input<typeof CompletedSchema>;

/** The wait was over before anything came of it: here is where it stands. */
export interface TimedOut {
  readonly kind: "timeout";
  readonly delivery: DeliveryRow;
}

export type AcceptedAnswer =
  | { readonly kind: "accepted"; readonly delivery: DeliveryRow }
  | Exclude<Ended, { kind: "completed" | "asked" }>
  | TimedOut;

export type CompletedAnswer = Ended | TimedOut;

/** What a sender has in hand. */
export type Sent<T = unknown> = Public<LocalSent<T>>;

export class LocalSent<T = unknown> {
  readonly kind = "sent";
  readonly #workspace: Workspace;
  readonly #sender: Sender;
  readonly #sent: SentHandoff<T>;

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

  /** Deprecated fields it says something in: since when, and what to say instead. */
  get deprecated(): readonly Deprecated[] {
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

  /** Where it stands now: stored, seen, accepted, settled are different times. */
  async status(): Promise<DeliveryRow> {
    for await (const { delivery } of changesOf(this.#workspace, this.#single(), {})) {
      return delivery;
    }
    throw new Error("a delivery is always shown once");
  }

  /** The delivery each time it has changed, first as it is now, until it is settled. */
  async *changes(options: WaitOptions = {}): AsyncGenerator<DeliveryRow, void, undefined> {
    for await (const { delivery } of changesOf(
      this.#workspace,
      this.#single(),
      checkedWait(options),
    )) {
      yield delivery;
      if (!isOpen(delivery.state)) return;
    }
  }

  /**
   * Waits until somebody has accepted it, or never will: 15 s unless told, and where a policy says how
   * long each try may take, until that has come to an end.
   */
  async accepted(options: WaitOptions = {}): Promise<AcceptedAnswer> {
    const { timeoutMs = this.#patience(), signal } = checkedWait(options);
    let last: DeliveryRow | undefined;
    const watched = { timeoutMs, signal };
    for await (const { delivery } of changesOf(this.#workspace, this.#single(), watched)) {
      if (isTakenUp(delivery)) return { kind: "accepted", delivery };
      const ended = isOpen(delivery.state) ? undefined : await endedAs(this.#workspace, delivery);
      if (ended !== undefined && ended.kind !== "completed" && ended.kind !== "asked") return ended;
      last = delivery;
    }
    return { kind: "timeout", delivery: last as DeliveryRow };
  }

  /** Waits until it is over, or the receiver asks back; with the result, or why there is none. */
  async completed(options: CompletedOptions = {}): Promise<CompletedAnswer> {
    const { line, timeoutMs, signal } = parseOr(CompletedSchema, options, OPTIONS);
    const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    for (let id = this.#single(); ; ) {
      const left = Math.max(0, until - performance.now());
      const last = await this.#ended(id, { signal, timeoutMs: left });
      if (!isEnded(last.state)) return { kind: "timeout", delivery: last };
      const end = line ? await endOfLine(this.#workspace, last.id) : undefined;
      if (end === undefined || end.delivery.id === last.id) return endedAs(this.#workspace, last);
      id = end.delivery.id; // It was handed on, and goes on as another.
    }
  }

  /** Takes it back: whoever has it is told. False when it was over already. */
  async cancel(reason: string): Promise<boolean> {
    const ids = this.#sent.deliveries.map(({ id }) => id);
    return (await cancelDeliveries(this.#workspace, this.#sender, ids, reason)).length > 0;
  }

  async #ended(id: string, watched: WaitOptions): Promise<DeliveryRow> {
    let last: DeliveryRow | undefined;
    for await (const { delivery } of changesOf(this.#workspace, id, watched)) {
      last = delivery;
      if (isEnded(delivery.state)) break;
    }
    return last as DeliveryRow;
  }

  #patience(): number {
    const decides = this.#sent.envelope.policy?.acceptMs !== undefined;
    return decides ? Number.POSITIVE_INFINITY : ACCEPTED_WITHIN_MS;
  }

  #single(): string {
    if (this.#sent.deliveries.length === 1) return this.id;
    throw new BatonError("invalid_input", {
      message: `This went to ${this.#sent.deliveries.length} receivers, each in its own state.`,
      path: "sent",
      hint: "Ask each of them: for (const one of sent.each) await one.completed().",
    });
  }
}

const OPTIONS = { code: "invalid_input", what: "The options", unwritten: "signal" } as const;

export const checkedWait = (options: WaitOptions): z.output<typeof WaitSchema> =>
  parseOr(WaitSchema, options, OPTIONS);

const isTakenUp = ({ acceptedAt }: DeliveryRow): boolean => acceptedAt > 0;
