/**
 * Accepted work over HTTP, with the same behaviour as in the hub's process. Every call renews the lease and
 * so does a heartbeat while this process lives, unless it is a session lease. A lost lease is reported by an
 * error and by the signal; work that is not settled at the end of its block is released. While there are
 * listeners, one long poll waits at the hub for changes made by others.
 */

import { asyncDispose } from "../base/async-dispose.ts";
import { canonicalJson } from "../base/canonical-json.ts";
import { type BatonError, isBatonError } from "../base/errors.ts";
import type { CheckedContext } from "../context/view/gaps.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { ReserveResult } from "../coordination/reservations/reserve.ts";
import type { Result } from "../delivery/send/result.ts";
import type { Failure } from "../delivery/settle/settle.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import { checkEffect } from "../delivery/work/effect-arguments.ts";
import type { NoteResult } from "../delivery/work/note.ts";
import type { OnceResult } from "../delivery/work/once.ts";
import type { ReadMemory } from "../delivery/work/read-record.ts";
import type { ShownView, WorkViewOptions } from "../delivery/work/views.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { DetailLevel, Draft, Envelope, EnvelopeOf } from "../envelope/schema.ts";
import type { Delivery, HeldDelivery } from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import { leaseLost } from "../history/lease-lost.ts";
import type { Sent } from "../hub/sent.ts";
import type { SerializedSent, SerializedWork } from "../hub/serialized.ts";
import type {
  SettleResult,
  Work,
  WorkEvents,
  WorkListeners,
  WorkReservations,
} from "../hub/work.ts";
import {
  alreadySettled,
  isLeaseLost,
  MAX_TIMER_MS,
  notifyListeners,
  RENEWALS_PER_LEASE,
  warnUnsettled,
  workAbandoned,
} from "../hub/work-helpers.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { WorkUpdates } from "../operations/work-updates.ts";
import { mergeOptions, requireFields } from "./connection/call-options.ts";
import { pause, unref } from "./connection/pause.ts";
import { errorOf, isProblem } from "./connection/problem.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";
import type { CallOptions } from "./connection/wire.ts";
import { runOnce } from "./once.ts";
import { checkOutputs, withParsedPayload } from "./payloads.ts";
import { RemoteSent } from "./sent.ts";
import type { SessionConnection } from "./session-connection.ts";
import { withId } from "./with-id.ts";

/** Pause between two polls for updates while the hub is unreachable. */
const OUTAGE_PAUSE_MS = 2_000;

type HandoffMethod = Work["handoff"];

/** Implements Work over HTTP. */
export class RemoteWork<T = unknown> implements Work<T> {
  readonly #session: SessionConnection;
  #form: SerializedWork;
  #leaseUntil: number;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  readonly #listeners: WorkListeners<T> = { extended: new Set(), warned: new Set() };
  /** Aborted when there is nothing more to listen for; undefined without listeners. */
  #listening: AbortController | undefined;
  /** Id of the newest known envelope, whether or not listeners were notified of it. */
  #newest: string;
  /** Warnings that listeners were notified of, by memory. */
  readonly #warned = new Map<string, Warning>();
  #abort: AbortController | undefined;
  #lost: BatonError | undefined;
  #settled = false;
  /** The settlement in progress. */
  #pending: Promise<unknown> | undefined;
  readonly #views = new Map<string, Promise<ShownView>>();
  #conflicts: readonly ReservationConflict[];
  #renewedAt = performance.now();
  #isBeating = false;
  readonly #onClosing = () => void this.#lose(this.#session.wire.connection.closedHere);

  constructor(session: SessionConnection, form: SerializedWork) {
    this.#session = session;
    this.#form = form;
    this.#leaseUntil = form.delivery.leaseUntil;
    this.#newest = form.envelope.id;
    this.#conflicts = form.conflicts;
    session.handles?.hold(form.handle);
    session.wire.connection.closing.addEventListener("abort", this.#onClosing, { once: true });
    if (session.lease === "session") return;
    const beat = Math.min(session.leaseMs / RENEWALS_PER_LEASE, MAX_TIMER_MS);
    this.#heartbeat = unref(setInterval(() => void this.#beat(), beat));
  }

  get id(): string {
    return this.#form.delivery.id;
  }

  get handle(): string {
    return this.#form.handle;
  }

  toJSON(): SerializedWork {
    return { ...this.#form, conflicts: this.#conflicts };
  }

  get envelope(): EnvelopeOf<T> {
    return this.#form.envelope as EnvelopeOf<T>;
  }

  get delivery(): HeldDelivery {
    return { ...this.#form.delivery, leaseUntil: this.#leaseUntil };
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#lost !== undefined) this.#abort.abort(this.#lost);
    this.#listen();
    return this.#abort.signal;
  }

  on<Event extends keyof WorkEvents<T>>(
    event: Event,
    listener: (value: WorkEvents<T>[Event]) => void,
  ): () => void {
    const listeners = this.#listeners[event] as Set<typeof listener>;
    listeners.add(listener);
    if (event === "warned" && this.#warned.size > 0) {
      // Warnings that earlier listeners already got.
      notifyListeners(new Set([listener]), [...this.#warned.values()] as never);
    }
    this.#listenAnew();
    return () => listeners.delete(listener);
  }

  async warnings(): Promise<readonly Warning[]> {
    return this.#session.wire.call("deliveries.warnings", { id: this.id });
  }

  get primer(): string {
    return this.#form.primer;
  }

  get attempts(): readonly EarlierAttempt[] {
    return this.#form.attempts;
  }

  get progress(): readonly LedgerProgress[] {
    return this.#form.progress;
  }

  async view(options: WorkViewOptions = {}): Promise<ShownView> {
    requireFields(options);
    const key = canonicalJson([this.#form.envelope.id, options], "invalid_input");
    const before = options.anew ? undefined : this.#views.get(key);
    if (before !== undefined) return before;
    const composing = this.#call<ShownView>("work.view", options);
    this.#views.set(key, composing);
    composing.catch(() => this.#views.delete(key));
    return composing;
  }

  async freshness(): Promise<CheckedContext> {
    return this.#call("work.freshness", {});
  }

  async read(id: string, level?: DetailLevel): Promise<ReadMemory> {
    if (!this.#settled) return this.#call("work.read", { id, level });
    if (this.#lost !== undefined) throw this.#lost;
    const { wire } = this.#session; // The work is settled, but its former holder can still read.
    return wire.call("memories.read", { id, freshest: true, of: this.id, level });
  }

  get reservations(): WorkReservations {
    return {
      set: async (globs, options = {}) => {
        this.#refuseSettled();
        const said = mergeOptions(options, { globs });
        const reserved = await this.#call<ReserveResult>("work.reservations.set", said);
        this.#conflicts = reserved.conflicts;
        return reserved;
      },
      clear: async () => {
        if (!this.#settled) await this.#call("work.reservations.clear", {});
        this.#conflicts = [];
      },
      conflicts: this.#conflicts,
    };
  }

  async note(input: MemoryInput | string): Promise<NoteResult> {
    const described = typeof input === "string" ? { content: input } : input;
    const noted = await this.#call<NoteResult>("deliveries.note", {
      note: withId(this.#session.ids, described),
    });
    if (noted.kind === "kept") this.#lose(leaseLost(this.id, noted.delivery));
    else await this.#loadUpdates(noted.envelope);
    return noted;
  }

  trace(step: TraceStep): Promise<Memory>;
  trace(steps: readonly TraceStep[]): Promise<Memory[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const all = this.#traceAll(many ? step : [step]);
    const traced = many ? all : all.then((memories) => memories[0] as Memory);
    traced.catch(() => {}); // As for an agent: an unhandled trace must not end the process.
    return traced;
  }

  async complete(result: Result = {}): Promise<SettleResult> {
    return this.#settle(async () => {
      await checkOutputs(this.#session.payloads, this.#form.envelope, result);
      return this.#settleOnce("work.complete", { result }, "completed");
    });
  }

  async clarify(question: string): Promise<SettleResult> {
    return this.#settle(() => this.#call("work.clarify", { question }));
  }

  async once<Value>(key: string, effect: () => Promise<Value> | Value): Promise<OnceResult<Value>> {
    const own = checkEffect(key, effect);
    this.#refuseSettled();
    return runOnce(own.effect, {
      begin: () => this.#call("effects.begin", { key: own.key }),
      record: (result) => this.#call("effects.record", { key: own.key, result }),
    });
  }

  async fail(failure: Failure): Promise<SettleResult> {
    return this.#settle(() => this.#call("work.fail", { failure }));
  }

  async decline(reason: string): Promise<SettleResult> {
    return this.#settle(() => this.#settleOnce("work.decline", { reason }, "declined"));
  }

  async release(): Promise<Delivery> {
    this.#refuseSettled();
    const delivery = await this.#ending(this.#call<Delivery>("work.release", {}));
    this.#end();
    return delivery;
  }

  /** Stops renewing the lease of work that could not be settled. Another call of its session may release it. */
  abandon(): void {
    if (this.#settled) return;
    this.#lose(workAbandoned(this.id));
    this.#session.handles?.markDoubtful();
  }

  async handoff<Next extends object = object>(
    draft: Parameters<HandoffMethod>[0],
    sending: Parameters<HandoffMethod>[1] = {},
  ): Promise<Sent<Next>> {
    this.#refuseSettled();
    const handing = async (): Promise<SerializedSent> => {
      const checked = await withParsedPayload(this.#session.payloads, draft);
      return this.#call(
        "work.handoff",
        mergeOptions(sending, { draft: checked as Partial<Draft> }),
      );
    };
    const sent = await this.#ending(handing());
    this.#end();
    return new RemoteSent<Next>(this.#session.wire, sent);
  }

  async renew(): Promise<void> {
    await this.#renew({});
  }

  /** Renews the lease, one call at a time so that calls do not pile up. A loss aborts the signal. */
  async #beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    await this.#renew({ quiet: true }).catch(() => {});
    this.#isBeating = false;
  }

  async #renew(how: CallOptions): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#settled) return;
    this.#renewedAt = performance.now();
    try {
      const { leaseUntil, envelope } = await this.#say<{ leaseUntil: number; envelope: string }>(
        "work.renew",
        {},
        how,
      );
      this.#leaseUntil = leaseUntil;
      await this.#loadUpdates(envelope);
    } catch (error) {
      if (!isLeaseLost(error)) throw error;
      if (this.#pending !== undefined) return; // A settlement is in progress: its result is reported instead.
      throw this.#lose(error);
    }
  }

  /** Settles the work by another call of its holder: adopting a proposal or deciding about a failure. */
  async settledBy<Answer>(call: () => Promise<Answer>, isOver: (answer: Answer) => boolean) {
    this.#refuseSettled();
    const answer = await this.#ending(call());
    if (isOver(answer)) this.#end();
    return answer;
  }

  async [asyncDispose](): Promise<void> {
    await this.#pending?.catch(() => {}); // Reported to the caller that settled it.
    if (this.#settled) return;
    try {
      await this.release();
      warnUnsettled(this.id);
    } catch (error) {
      if (this.#lost === undefined) throw error; // Lost: already reported by the signal.
    }
  }

  async #traceAll(steps: readonly TraceStep[]): Promise<Memory[]> {
    const own = steps.map((step) => ({ task: this.#form.envelope.task, ...step }));
    const traced = this.#session.traces.add(own);
    if (performance.now() - this.#renewedAt >= this.#session.leaseMs / RENEWALS_PER_LEASE) {
      await this.renew().catch(() => {}); // A loss aborts the signal.
    }
    return traced;
  }

  /** Calls an operation on this work. An error that reports a lost lease ends the work. */
  async #call<Output>(name: string, input: object, options?: CallOptions): Promise<Output> {
    try {
      return await this.#say(name, input, options);
    } catch (error) {
      if (isLeaseLost(error)) this.#lose(error);
      throw error;
    }
  }

  #say<Output>(name: string, input: object, options?: CallOptions): Promise<Output> {
    const { handle, envelope } = this.#form;
    const fields = { envelope: envelope.id, ...input, handle };
    return this.#session.wire.call(name, fields, options);
  }

  async #settle(settling: () => Promise<SettleResult>): Promise<SettleResult> {
    this.#refuseSettled();
    const outcome = await this.#ending(settling());
    this.#end();
    return outcome;
  }

  /**
   * Settles the work, also if the response of an earlier attempt was lost together with the hub. The retry is
   * then refused because the work is settled; if state, holder and attempt match, this call settled it.
   */
  async #settleOnce(
    name: "work.complete" | "work.decline",
    input: object,
    state: Delivery["state"],
  ): Promise<SettleResult> {
    let again = false;
    const onAgain = () => {
      again = true;
    };
    try {
      return await this.#say(name, input, { onAgain });
    } catch (error) {
      if (!isLeaseLost(error)) throw error;
      const { details } = error;
      const isOwn = details["holder"] === this.#session.info.id;
      const isSame =
        details["state"] === state && details["attempt"] === this.#form.delivery.attempt;
      if (!again || !isOwn || !isSame) throw this.#lose(error);
      const { delivery } = await this.#session.wire.call<DeliveryDetails>("deliveries.get", {
        id: this.id,
      });
      return { kind: "settled", delivery };
    }
  }

  async #ending<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
    this.#pending = outcome;
    try {
      return await outcome;
    } catch (error) {
      if (isBatonError(error) && error.code === "work_extended") await this.#loadExtension();
      throw error;
    } finally {
      this.#pending = undefined;
    }
  }

  #extend({ envelope, primer }: Pick<SerializedWork, "envelope" | "primer">): void {
    this.#form = { ...this.#form, envelope, primer };
    this.#newest = envelope.id;
  }

  /** The sender extended the work: from now on the holder knows the new envelope. */
  async #loadExtension(): Promise<void> {
    const { handle } = this.#form;
    this.#extend(await this.#session.wire.call<SerializedWork>("resume", { handle }));
  }

  // Updates -------------------------------------------------------------------------------------

  #listen(): void {
    if (this.#settled || this.#listening !== undefined) return;
    this.#listening = new AbortController();
    this.#follow(this.#listening.signal).catch(() => {}); // Only a hint: settling reports the same.
  }

  /** Polls at once for a new listener, which also gets earlier updates. */
  #listenAnew(): void {
    if (this.#listening !== undefined && !this.#settled) this.#lookAgain();
    this.#listen();
  }

  /** Keeps one long poll waiting at the hub until the signal aborts. */
  async #follow(signal: AbortSignal): Promise<void> {
    let warned: string | undefined;
    for (let waitMs = 0; !signal.aborted; waitMs = CLIENT_TIMING.waitMs) {
      const asked = { envelope: this.#newest, warned, waitMs };
      try {
        const how = { signal, waitMs, waits: true, quiet: true } as const;
        const news = await this.#say<WorkUpdates>("work.on", asked, how);
        warned = news.warned;
        await this.#apply(news);
      } catch (error) {
        if (isLeaseLost(error)) return void (this.#pending ?? this.#lose(error));
        if (!signal.aborted) await pause(OUTAGE_PAUSE_MS, { signals: [signal], quiet: true });
      }
    }
  }

  #lookAgain(): void {
    const looking = this.#say<WorkUpdates>("work.on", { waitMs: 0 }).then((news) =>
      this.#apply(news),
    );
    looking.catch(() => {}); // Only a hint, as above.
  }

  async #apply({ lost, extended, primer, warnings }: WorkUpdates): Promise<void> {
    if (this.#settled || this.#pending !== undefined) return;
    if (isProblem(lost)) return void this.#lose(errorOf(lost));
    if (extended !== undefined) {
      this.#newest = extended.id;
      this.#notifyExtension(extended, primer ?? this.#form.primer);
    }
    this.#notifyWarnings(warnings);
  }

  /** Loads updates after a call returned a newer envelope. The call has succeeded even if this fails. */
  async #loadUpdates(newest: string): Promise<void> {
    if (newest === this.#form.envelope.id || this.#listeners.extended.size === 0) return;
    const asked = this.#say<WorkUpdates>("work.on", { waitMs: 0 }).then((news) =>
      this.#apply(news),
    );
    await asked.catch(() => {}); // Only a hint, as above.
  }

  /**
   * Moves on to a newer envelope only if a listener is notified of it: an extension that the holder has not
   * seen must not count as seen.
   */
  #notifyExtension(newer: Envelope, primer: string): void {
    const { extended } = this.#listeners;
    if (this.#settled || extended.size === 0 || newer.id === this.#form.envelope.id) return;
    this.#extend({ envelope: newer, primer });
    notifyListeners(extended, this.envelope);
  }

  #forgetLifted(all: readonly Warning[]): void {
    const current = new Set(all.map(({ memory }) => memory));
    for (const memory of this.#warned.keys()) if (!current.has(memory)) this.#warned.delete(memory);
  }

  /** Notifies of each warning once; a memory that is quarantined again after a lift is a new warning. */
  #notifyWarnings(warnings: readonly Warning[]): void {
    const { warned } = this.#listeners;
    if (this.#settled || warned.size === 0) return;
    this.#forgetLifted(warnings);
    const news = warnings.filter(
      ({ memory, record }) => this.#warned.get(memory)?.record !== record,
    );
    for (const warning of news) this.#warned.set(warning.memory, warning);
    if (news.length > 0) notifyListeners(warned, news);
  }

  // The end -------------------------------------------------------------------------------------

  #refuseSettled(): void {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#settled || this.#pending !== undefined) throw alreadySettled(this.id);
  }

  /** Marks the work as lost, unless this holder settled it: a late note or heartbeat changes nothing then. */
  #lose(error: BatonError): BatonError {
    if (this.#settled && this.#lost === undefined) return error;
    this.#end();
    this.#lost = error;
    this.#abort?.abort(error);
    return error;
  }

  #end(): void {
    this.#settled = true;
    this.#session.handles?.forget(this.handle);
    clearInterval(this.#heartbeat);
    this.#listening?.abort();
    this.#session.wire.connection.closing.removeEventListener("abort", this.#onClosing);
  }
}
