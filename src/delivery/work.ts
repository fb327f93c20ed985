/**
 * Work: what a receiver has after accepting. Holds the lease (renewed by every call and, unless it
 * is a session's, by a heartbeat while the process lives), and ends by completing, handing on,
 * failing, declining or releasing. Left unsettled at the end of its block, it releases itself as a
 * counted try.
 */
import type { DraftOf, Envelope, EnvelopeOf } from "../envelope/schema.ts";
import { BatonError, isBatonError } from "../errors.ts";
import { readMemory } from "../memory/read.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { DeliveryRow, EnvelopeRow } from "../store/rows.ts";
import type { Claimed, Lease } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { parseEnvelope } from "./accept.ts";
import { leaseLost } from "./lease.ts";
import { type Noted, note } from "./note.ts";
import { handleOf } from "./resume.ts";
import { sendHandoff } from "./send.ts";
import { Sent } from "./sent.ts";
import {
  complete,
  decline,
  type Failure,
  fail,
  type Result,
  releaseNewest,
  type Settled,
} from "./settle.ts";
import type { Worker } from "./worker.ts";

/** Renewals per lease: two may fail before the third is late. */
const BEATS_PER_LEASE = 3;

/** The answer to settling: done, or told of an addition that has to be looked at first. */
export type Settling<T> =
  | { readonly kind: "settled"; readonly delivery: DeliveryRow }
  | { readonly kind: "extended"; readonly envelope: EnvelopeOf<T> };

export class Work<T = unknown> implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #holder: Worker;
  readonly #delivery: DeliveryRow;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  /** Set while somebody wants to be told of additions. */
  #unlisten: (() => void) | undefined;
  #onExtended: ((envelope: EnvelopeOf<T>) => void) | undefined;
  /** The newest envelope this holder has been told of; parsed when it is first looked at. */
  #sealed: EnvelopeRow;
  #envelope: EnvelopeOf<T> | undefined;
  #abort: AbortController | undefined;
  #lost: BatonError | undefined;
  #settled = false;
  /** The settlement that was sent and is not yet answered. */
  #pending: Promise<unknown> | undefined;

  constructor(workspace: Workspace, holder: Worker, claimed: Claimed) {
    this.#workspace = workspace;
    this.#holder = holder;
    this.#delivery = claimed.delivery;
    this.#sealed = claimed.envelope;
    if (holder.lease === "session") return;
    const beat = workspace.limits.leaseMs / BEATS_PER_LEASE;
    this.#heartbeat = setInterval(() => this.#beat(), beat).unref();
  }

  get id(): string {
    return this.#delivery.id;
  }

  /** What `agent.resume()` goes on from, also in another process. Good while the work is held. */
  get handle(): string {
    return handleOf(this.#delivery);
  }

  /** What was handed over: the newest envelope this holder was told of. */
  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#sealed) as EnvelopeOf<T>;
    return this.#envelope;
  }

  get task(): string {
    return this.#sealed.task;
  }

  get attempt(): number {
    return this.#delivery.attempt;
  }

  /** The record this work began with; it continues from the handoff. */
  get acceptedBy(): string {
    return this.#delivery.acceptedBy;
  }

  /** Aborted when the work is no longer this holder's. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#lost !== undefined) this.#abort.abort(this.#lost);
    return this.#abort.signal;
  }

  /** Called when the sender adds to the handoff while it is held. */
  set onExtended(tell: ((envelope: EnvelopeOf<T>) => void) | undefined) {
    this.#onExtended = tell;
    if (this.#settled) return;
    const whom = { workspace: this.#workspace.name, agent: this.#holder.agent };
    this.#unlisten ??= this.#workspace.store.onWake(whom, () => this.#lookAgain());
  }

  get onExtended(): ((envelope: EnvelopeOf<T>) => void) | undefined {
    return this.#onExtended;
  }

  /** A record the handoff refers to, or any other of the workspace. */
  async read(id: string): Promise<Memory> {
    const memory = await readMemory(this.#workspace, id);
    await this.renew();
    return memory;
  }

  /** Writes down a step, finding or question of this work. */
  async note(input: MemoryInput | string): Promise<Noted> {
    const described = typeof input === "string" ? { content: input } : input;
    const noted = await note(this.#workspace, this.#holder, this.#hold(), described);
    if (noted.kind === "kept") this.#lose(leaseLost(this.id, noted.delivery));
    else if (noted.envelope !== this.#sealed.id) await this.#tellExtension();
    return noted;
  }

  async complete(result: Result = {}): Promise<Settling<T>> {
    return this.#settle((hold) => complete(this.#workspace, this.#holder, hold, result));
  }

  async fail(failure: Failure): Promise<Settling<T>> {
    return this.#settle((hold) => fail(this.#workspace, this.#holder, hold, failure));
  }

  async decline(reason: string): Promise<Settling<T>> {
    return this.#settle((hold) => decline(this.#workspace, this.#holder, hold, reason));
  }

  /** Gives it back to the inbox, with everything the sender has added. */
  async release(): Promise<DeliveryRow> {
    this.#refuseSettled();
    const delivery = await this.#ending(releaseNewest(this.#workspace, this.#holder, this.#hold()));
    this.#end();
    return delivery;
  }

  /** Hands the task on: completes this work and sends the next envelope, in one operation. */
  async handoff<Next extends object = object>(
    draft: Omit<DraftOf<Next>, "task" | "intent"> & Partial<Pick<DraftOf<Next>, "task" | "intent">>,
  ): Promise<Sent<Next> | Extract<Settling<T>, { kind: "extended" }>> {
    this.#refuseSettled();
    const work = {
      lease: this.#lease(),
      envelope: this.envelope as Envelope,
      acceptedBy: this.acceptedBy,
    };
    const outcome = await this.#ending(
      sendHandoff<Next>(
        this.#workspace,
        { ...this.#holder, work },
        { intent: this.envelope.intent, task: this.task, ...draft },
      ),
    );
    switch (outcome.kind) {
      case "sent":
        this.#end();
        return new Sent(this.#workspace, outcome);
      case "extended":
        return this.#extend(outcome.envelope);
      case "lease_lost":
        throw this.#lose(leaseLost(this.id, outcome.delivery));
    }
  }

  /** Asks for more time. Every other call does so too; a heartbeat does it in between. */
  async renew(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#settled) return;
    const outcome = await this.#workspace.store.renewLease(this.#workspace.name, this.#lease());
    if (outcome.kind === "lease_lost") {
      if (this.#pending !== undefined) return; // Being settled: the answer to that is the one to tell.
      throw this.#lose(leaseLost(this.id, outcome.delivery));
    }
    if (outcome.delivery.envelope !== this.#sealed.id) await this.#tellExtension();
  }

  /** The end of the block: what was not settled goes back, unless it was lost already. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pending?.catch(() => {}); // Told to whoever settled it.
    if (this.#settled) return;
    await this.release().catch((error: unknown) => {
      if (this.#lost === undefined) throw error;
    });
  }

  async #settle(settling: (hold: Claimed) => Promise<Settled>): Promise<Settling<T>> {
    this.#refuseSettled();
    const outcome = await this.#ending(settling(this.#hold()));
    if (outcome.kind === "extended") return this.#extend(outcome.envelope);
    this.#end();
    return outcome;
  }

  /** A lost lease ends this work; the caller is told by the error and by the signal. */
  async #ending<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
    this.#pending = outcome;
    try {
      return await outcome;
    } catch (error) {
      if (isBatonError(error) && error.code === "lease_lost") this.#lose(error);
      throw error;
    } finally {
      this.#pending = undefined;
    }
  }

  #hold(): Claimed {
    return { delivery: this.#delivery, envelope: this.#sealed };
  }

  #lease(): Lease {
    return {
      delivery: this.#delivery.id,
      fence: this.#delivery.fence,
      envelope: this.#sealed.id,
      leaseMs: this.#workspace.limits.leaseMs,
    };
  }

  #extend(sealed: EnvelopeRow): { kind: "extended"; envelope: EnvelopeOf<T> } {
    this.#sealed = sealed;
    this.#envelope = undefined;
    return { kind: "extended", envelope: this.envelope };
  }

  /** A lost lease is told by the signal; when the store is out of reach the next beat tries again. */
  #beat(): void {
    this.renew().catch((error: unknown) => {
      if (isBatonError(error) && error.code === "store_closed") this.#lose(error);
    });
  }

  /** Somebody did something that concerns this agent: it may be an addition to this work. */
  #lookAgain(): void {
    this.#tellExtension().catch(() => {}); // A hint only: settling tells of it all the same.
  }

  /**
   * Goes on to a newer envelope only where the holder is told of it: by `onExtended`, or by the
   * answer to settling. What nobody has seen does not count as looked at.
   */
  async #tellExtension(): Promise<void> {
    if (this.#settled || this.#onExtended === undefined) return;
    const current = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    if (current === undefined || current.envelope.id === this.#sealed.id) return;
    const { envelope } = this.#extend(current.envelope);
    const tell = this.#onExtended;
    queueMicrotask(() => tell(envelope)); // What it throws is its own, not a note's or a heartbeat's.
  }

  #refuseSettled(): void {
    if (this.#lost !== undefined) throw this.#lost;
    if (!this.#settled && this.#pending === undefined) return;
    throw new BatonError("already_settled", {
      message: `The work of ${this.id} was settled before, or is being settled.`,
      path: "work",
      hint: "A piece of work is completed, failed, declined, released or handed on once.",
    });
  }

  /** What this holder settled itself is over, not lost: a late note or heartbeat changes nothing. */
  #lose(error: BatonError): BatonError {
    if (this.#settled && this.#lost === undefined) return error;
    this.#end();
    this.#lost = error;
    this.#abort?.abort(error);
    return error;
  }

  #end(): void {
    this.#settled = true;
    clearInterval(this.#heartbeat);
    this.#unlisten?.();
  }
}
