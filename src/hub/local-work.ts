/** The work of a hub in this process. */

import { canonicalJson } from "../base/digest.ts";
import { type BatonError, isBatonError } from "../base/errors.ts";
import { type CheckedContext, checkContext } from "../context/view/gaps.ts";
import { primerOf } from "../context/view/primer.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import {
  type ReserveOptions,
  type ReserveResult,
  reserve,
  unreserve,
} from "../coordination/reservations/reserve.ts";
import type { Worker } from "../delivery/receive/worker.ts";
import { afterHandingOn, performHandoff } from "../delivery/send/handoff.ts";
import type { Sender, SendOptions } from "../delivery/send/plan.ts";
import type { CheckedResult, Result } from "../delivery/send/result.ts";
import { resolveRoute } from "../delivery/settings/routes.ts";
import {
  ask,
  checkResultFor,
  complete,
  decline,
  type Failure,
  fail,
  releaseNewest,
  type SettleResult as SettleOutcome,
} from "../delivery/settle/settle.ts";
import { checkEffect } from "../delivery/work/effect-arguments.ts";
import { type NoteResult, note } from "../delivery/work/note.ts";
import { type OnceResult, once, workEffectKey } from "../delivery/work/once.ts";
import { type ReadMemory, readRecord } from "../delivery/work/read-record.ts";
import { workExtended } from "../delivery/work/unseen-envelope.ts";
import {
  findShownRecords,
  parseViewRequest,
  type ShownView,
  type ViewRequest,
  viewFor,
  type WorkViewOptions,
} from "../delivery/work/views.ts";
import { type Warning, warningsOf } from "../delivery/work/warnings.ts";
import { handleOf } from "../delivery/work/work-handle.ts";
import { COMPLETED_ACTION, resultType } from "../envelope/built-in-actions.ts";
import type { DetailLevel, Envelope, EnvelopeOf } from "../envelope/schema.ts";
import { type Background, backgroundOf, NO_BACKGROUND } from "../history/background.ts";
import {
  type Delivery,
  deliveryOf,
  type HeldDelivery,
  heldDeliveryOf,
} from "../history/delivery.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import { leaseLost } from "../history/lease-lost.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import { workspaceForWork } from "../memory/branches/work-branch.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { WithSecrets } from "../memory/redaction/secret-policy.ts";
import { type TraceStep, traceSteps } from "../memory/traces/trace.ts";
import type { ViewGap } from "../memory/view-gap.ts";
import { parseEnvelope, touchesOf } from "../store/parse-envelope.ts";
import { type DeliveryRow, type EnvelopeRow, isHeld } from "../store/rows.ts";
import type { ClaimNext, DeliveryWithEnvelopeRow, Lease } from "../store/store.ts";
import { drawBoundary } from "../text/fence.ts";
import { runFollowUp } from "../workspace/follow-up.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { LocalSent, type Sent } from "./sent.ts";
import type { SerializedWork } from "./serialized.ts";
import type {
  NextDraft,
  SettleResult,
  Work,
  WorkEvents,
  WorkListeners,
  WorkReservations,
} from "./work.ts";
import {
  alreadySettled,
  isLeaseLost,
  MAX_TIMER_MS,
  notifyListeners,
  RENEWALS_PER_LEASE,
  warnUnsettled,
  workAbandoned,
} from "./work-helpers.ts";

/** How often listening work polls, because a wake-up is a hint and can be lost. */
const FALLBACK_POLL_MS = 2_000;

/** The work of a hub in this process. */
export class LocalWork<T = unknown> implements Work<T> {
  readonly #workspace: Workspace;
  readonly #holder: Worker;
  readonly #delivery: DeliveryRow;
  #leaseUntil: number;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  /** Stops listening for changes; undefined while nothing listens. */
  #unlisten: (() => void) | undefined;
  readonly #listeners: WorkListeners<T> = { extended: new Set(), warned: new Set() };
  /** The warnings this holder was sent, by the id of the quarantined memory. */
  readonly #warned = new Map<string, Warning>();
  /** The newest envelope this holder was notified of, as stored; parsed on first access. */
  #sealed: EnvelopeRow;
  #envelope: EnvelopeOf<T> | undefined;
  #abort: AbortController | undefined;
  #lost: BatonError | undefined;
  #settled = false;
  /** When a trace call last renewed the lease. */
  #renewedAt = performance.now();
  /** The settlement in progress, undefined if there is none. */
  #pending: Promise<unknown> | undefined;
  /** Views that were composed, by envelope and options. */
  readonly #views = new Map<string, Promise<ShownView>>();
  /** What the view that was composed last could not find. */
  #gaps: readonly ViewGap[] = [];
  /** Conflicts at the last reservation, and whether this work may have reservations. */
  #conflicts: readonly ReservationConflict[] = [];
  #reserved = false;
  /** Resumed from a handle: the views shown in the process that accepted it are not known here. */
  readonly #resumed: boolean;
  readonly #background: Background;
  /** The number in the fences of the primer. */
  #boundary: string | undefined;

  constructor(
    workspace: Workspace,
    holder: Worker,
    claimed: DeliveryWithEnvelopeRow,
    {
      background = NO_BACKGROUND,
      resumed = false,
    }: { readonly background?: Background; readonly resumed?: boolean } = {},
  ) {
    this.#background = background;
    this.#resumed = resumed;
    this.#reserved = resumed; // The process that accepted it may have reserved.
    this.#workspace = workspace;
    this.#holder = holder;
    this.#delivery = claimed.delivery;
    this.#leaseUntil = claimed.delivery.leaseUntil;
    this.#sealed = claimed.envelope;
    if (holder.lease === "session") return;
    const beat = Math.min(workspace.limits.leaseMs / RENEWALS_PER_LEASE, MAX_TIMER_MS);
    this.#heartbeat = setInterval(() => this.#beat(), beat).unref();
  }

  /**
   * Returns the work of a delivery that was just accepted, and reserves what the handoff says it will touch.
   * The delivery is accepted even if reserving fails, because accepting is one store operation; the failure
   * is reported like that of every follow-up.
   */
  static async begin<T>(
    workspace: Workspace,
    holder: Worker,
    claimed: DeliveryWithEnvelopeRow,
    known?: Background,
  ): Promise<LocalWork<T>> {
    const background = known ?? (await backgroundOf(workspace, claimed));
    const work = new LocalWork<T>(workspace, holder, claimed, { background });
    if (touchesOf(claimed.envelope).length > 0) {
      await runFollowUp(`reserve ${work.id}`, async () => {
        await work.#reserve(undefined);
      });
    }
    return work;
  }

  get id(): string {
    return this.#delivery.id;
  }

  get handle(): string {
    return handleOf(this.#delivery);
  }

  /** Returns this work as plain data. */
  toJSON(): SerializedWork {
    const { handle, primer } = this;
    const envelope = this.envelope as Envelope;
    return {
      handle,
      delivery: heldDeliveryOf(this.#delivery),
      envelope,
      primer,
      conflicts: this.#conflicts,
      ...this.#background,
    };
  }

  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#workspace, this.#sealed) as EnvelopeOf<T>;
    return this.#envelope;
  }

  get delivery(): HeldDelivery {
    return heldDeliveryOf({ ...this.#delivery, leaseUntil: this.#leaseUntil });
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
      // Warnings that other listeners received before.
      notifyListeners(new Set([listener]), [...this.#warned.values()] as never);
    }
    this.#listen();
    return () => listeners.delete(listener);
  }

  /** Removes all listeners. For interfaces that listen only during one call. */
  unwatch(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#listeners.extended.clear();
    this.#listeners.warned.clear();
  }

  async warnings(): Promise<readonly Warning[]> {
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    return warningsOf(this.#workspace, found ?? this.#hold());
  }

  get primer(): string {
    this.#boundary ??= drawBoundary(this.#workspace.ids);
    return primerOf(this.envelope as Envelope, {
      receiver: this.#holder,
      background: this.#background,
      boundary: this.#boundary,
    });
  }

  get attempts(): readonly EarlierAttempt[] {
    return this.#background.attempts;
  }

  get progress(): readonly LedgerProgress[] {
    return this.#background.progress;
  }

  async view(options: WorkViewOptions = {}): Promise<ShownView> {
    const asked = parseViewRequest(options);
    const key = canonicalJson([this.#sealed.id, asked.key], "invalid_input");
    const before = asked.anew ? undefined : this.#views.get(key);
    if (before !== undefined) return before;
    const composing = this.#compose(asked);
    this.#views.set(key, composing);
    composing.catch(() => this.#views.delete(key));
    return composing;
  }

  async freshness(): Promise<CheckedContext> {
    const here = workspaceForWork(this.#workspace, this.#sealed);
    const checked = await checkContext(here, this.envelope);
    await this.renew();
    return checked;
  }

  async read(id: string, level?: DetailLevel): Promise<ReadMemory> {
    const options = { freshest: true, of: this.id, ...(level === undefined ? {} : { level }) };
    const here = workspaceForWork(this.#workspace, this.#sealed);
    const memory = await readRecord(here, id, options, this.envelope.refs);
    await this.renew();
    return memory;
  }

  get reservations(): WorkReservations {
    return {
      set: async (globs, options = {}) => {
        this.#refuseSettled();
        await this.renew();
        return this.#reserve(globs, options);
      },
      clear: async () => {
        await unreserve(this.#workspace, this.#delivery);
        this.#conflicts = [];
        this.#reserved = false;
      },
      conflicts: this.#conflicts,
    };
  }

  async note(input: MemoryInput | string): Promise<NoteResult> {
    const described = typeof input === "string" ? { content: input } : input;
    const noted = await note(this.#workspace, this.#holder, this.#hold(), described);
    if (noted.kind === "kept") this.#lose(leaseLost(this.id, noted.delivery));
    else if (noted.envelope !== this.#sealed.id) await this.#notifyExtension();
    return noted;
  }

  trace(step: TraceStep): Promise<WithSecrets<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<WithSecrets<Memory>[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const all = this.#traceAll(many ? step : [step]);
    const traced = many ? all : all.then((memories) => memories[0] as Memory);
    traced.catch(() => {}); // As in Agent.trace(): tracing alone never ends a process.
    return traced;
  }

  async complete(result: Result = {}): Promise<SettleResult> {
    return (await this.#complete(result)).settled;
  }

  /**
   * Completes the work and claims the next delivery in the same transaction. Returns what was claimed and
   * accepted; undefined if nothing was, also if a route hands the task on.
   */
  async completeAndClaim(
    result: Result,
    next: ClaimNext,
  ): Promise<DeliveryWithEnvelopeRow | undefined> {
    this.#refuseSettled();
    return (await this.#complete(result, next)).claimed;
  }

  async #complete(
    result: Result,
    next?: ClaimNext,
  ): Promise<{ settled: SettleResult; claimed?: DeliveryWithEnvelopeRow | undefined }> {
    if (result?.outcome !== undefined) {
      const checked = await checkResultFor(this.#workspace, this.#hold(), result);
      const to = await this.#routeOf(checked);
      if (to !== undefined) return { settled: await this.#handOn(to, checked) };
    }
    const gaps = this.#resumed ? await this.#gapsBefore() : this.#gaps;
    let claimed: DeliveryWithEnvelopeRow | undefined;
    const settled = await this.#settle(async (hold) => {
      const completing = { ...hold, gaps, next };
      const outcome = await complete(this.#workspace, this.#holder, completing, result);
      if (outcome.kind !== "settled") return outcome;
      const { next: row, ...ended } = outcome;
      claimed = row;
      return ended;
    });
    return { settled, claimed };
  }

  async clarify(question: string): Promise<SettleResult> {
    return this.#settle((hold) => ask(this.#workspace, this.#holder, hold, question));
  }

  async once<Value>(key: string, effect: () => Promise<Value> | Value): Promise<OnceResult<Value>> {
    const own = checkEffect(workEffectKey(this.id, key), effect);
    this.#refuseSettled();
    await this.renew(); // Throws if the work was cancelled or another holder has it.
    return once(this.#workspace, this.#holder.agent, own.key, own.effect);
  }

  async fail(failure: Failure): Promise<SettleResult> {
    return this.#settle((hold) => fail(this.#workspace, this.#holder, hold, failure));
  }

  async decline(reason: string): Promise<SettleResult> {
    return this.#settle((hold) => decline(this.#workspace, this.#holder, hold, reason));
  }

  async release(): Promise<Delivery> {
    this.#refuseSettled();
    const delivery = await this.#ending(releaseNewest(this.#workspace, this.#holder, this.#hold()));
    this.#end();
    await this.#letGo();
    return deliveryOf(delivery);
  }

  /** Stops renewing the lease of work that could not be settled. */
  abandon(): void {
    if (!this.#settled) this.#lose(workAbandoned(this.id));
  }

  async handoff<Next extends object = object>(
    draft: NextDraft<Next>,
    sending: Pick<SendOptions, "completes" | "receivers" | "result"> = {},
  ): Promise<Sent<Next>> {
    const gaps = this.#resumed ? await this.#gapsBefore() : this.#gaps;
    this.#refuseSettled();
    const sender: Sender = {
      ...this.#holder,
      work: {
        lease: this.#lease(),
        envelope: this.envelope as Envelope,
        acceptedBy: this.#delivery.acceptedBy,
        gaps,
      },
    };
    const full = { intent: this.envelope.intent, task: this.#sealed.task, ...draft };
    const outcome = await this.#ending(
      performHandoff<Next>(this.#workspace, sender, full, sending),
    );
    switch (outcome.kind) {
      case "sent":
        this.#end();
        await this.#letGo();
        await afterHandingOn(this.#workspace, this.id);
        return new LocalSent<Next>(this.#workspace, sender, outcome);
      case "extended":
        throw this.#extended(outcome.envelope);
      case "lease_lost":
        throw this.#lose(leaseLost(this.id, outcome.delivery));
    }
  }

  async renew(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#settled) return;
    const outcome = await this.#workspace.store.renewLease(this.#workspace.name, this.#lease());
    if (outcome.kind === "lease_lost") {
      if (this.#pending !== undefined) return; // The settlement in progress reports the outcome.
      throw this.#lose(leaseLost(this.id, outcome.delivery));
    }
    this.#leaseUntil = outcome.delivery.leaseUntil;
    if (outcome.delivery.envelope !== this.#sealed.id) await this.#notifyExtension();
  }

  async #traceAll(steps: readonly TraceStep[]): Promise<Memory[]> {
    const own = steps.map((step) => ({ task: this.#sealed.task, ...step }));
    const traced = traceSteps(this.#workspace, this.#holder, own);
    await this.#renewNowAndThen();
    return traced;
  }

  /**
   * Renews at most as often as the heartbeat, because trace calls arrive by the hundred. The signal reports a
   * loss.
   */
  async #renewNowAndThen(): Promise<void> {
    const now = performance.now();
    if (now - this.#renewedAt < this.#workspace.limits.leaseMs / RENEWALS_PER_LEASE) return;
    this.#renewedAt = now;
    await this.renew().catch(() => {});
  }

  /** Releases work that was not settled at the end of its block, unless its lease was lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pending?.catch(() => {}); // The caller that settled receives the error.
    if (this.#settled) return;
    try {
      await this.release();
      warnUnsettled(this.id);
    } catch (error) {
      // Lost: another holder has the work, and this one was notified.
      if (this.#lost === undefined) throw error;
    }
  }

  async #compose(asked: ViewRequest): Promise<ShownView> {
    try {
      const { view, envelope } = await viewFor(this.#workspace, this.#holder, this.#hold(), asked);
      this.#gaps = view.gaps;
      if (envelope !== this.#sealed.id) await this.#notifyExtension();
      return view;
    } catch (error) {
      if (isLeaseLost(error)) throw this.#lose(error);
      throw error;
    }
  }

  /** Returns what views in the earlier process could not find; none if the handoff has no references. */
  async #gapsBefore(): Promise<readonly ViewGap[]> {
    if (this.envelope.refs.length === 0) return [];
    return (await findShownRecords(this.#workspace, this.#delivery)).gaps;
  }

  async #routeOf({ outcome }: CheckedResult): Promise<string | undefined> {
    const from = this.#holder.agent;
    const leaving = { from, task: this.#sealed.task, action: COMPLETED_ACTION, payload: undefined };
    return resolveRoute(this.#workspace, { ...leaving, result: outcome }, true);
  }

  async #handOn(to: string, result: CheckedResult): Promise<SettleResult> {
    const { summary, outputs, outcome } = result;
    const payload = outputs && { type: resultType(outcome), data: outputs };
    const draft = {
      to,
      action: COMPLETED_ACTION,
      ...(summary === undefined ? {} : { state: summary }),
      ...(payload && { payload }),
      constraints: this.envelope.constraints,
    };
    await this.handoff(draft, { completes: result });
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    return { kind: "settled", delivery: deliveryOf(found?.delivery ?? this.#delivery) };
  }

  /** Listens for wake-ups of this agent: they may mean that the work was extended or cancelled. */
  #listen(): void {
    if (this.#settled || this.#unlisten !== undefined) return;
    const whom = { workspace: this.#workspace.name, agent: this.#holder.agent };
    const unlisten = this.#workspace.store.onWake(whom, () => this.#lookAgain());
    const poll = setInterval(() => this.#lookAgain(), FALLBACK_POLL_MS).unref();
    this.#unlisten = () => {
      unlisten();
      clearInterval(poll);
    };
    this.#lookAgain(); // The change may have happened before listening began.
  }

  async #settle(
    settling: (hold: DeliveryWithEnvelopeRow) => Promise<SettleOutcome>,
  ): Promise<SettleResult> {
    this.#refuseSettled();
    const outcome = await this.#ending(settling(this.#hold()));
    if (outcome.kind === "extended") throw this.#extended(outcome.envelope);
    this.#end();
    await this.#letGo();
    return { ...outcome, delivery: deliveryOf(outcome.delivery) };
  }

  async #reserve(
    globs: string | readonly string[] | undefined,
    options: ReserveOptions = {},
  ): Promise<ReserveResult> {
    const delivery = { ...this.#delivery, leaseUntil: this.#leaseUntil };
    const hold = { delivery, envelope: this.#sealed };
    this.#reserved = true; // Set first: the reservation may be stored even if the call fails.
    const reserved = await reserve(this.#workspace, hold, globs, options);
    this.#conflicts = reserved.conflicts;
    return reserved;
  }

  /** Deletes the reservations of ended work; what is left after a crash is deleted by the next reader. */
  async #letGo(): Promise<void> {
    if (!this.#reserved) return;
    await runFollowUp(`unreserve ${this.id}`, () => unreserve(this.#workspace, this.#delivery));
  }

  /**
   * Awaits a settlement. A lost lease ends this work; the caller learns of it by the error and by the signal.
   */
  async #ending<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
    this.#pending = outcome;
    try {
      return await outcome;
    } catch (error) {
      if (isLeaseLost(error)) this.#lose(error);
      throw error;
    } finally {
      this.#pending = undefined;
    }
  }

  #hold(): DeliveryWithEnvelopeRow {
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

  #extend(sealed: EnvelopeRow): void {
    this.#sealed = sealed;
    this.#envelope = undefined;
  }

  #extended(sealed: EnvelopeRow): BatonError {
    this.#extend(sealed);
    return workExtended(this.id, sealed.id);
  }

  /**
   * Renews the lease. The signal reports a lost lease; if the store is unreachable, the next heartbeat
   * retries.
   */
  #beat(): void {
    this.renew().catch((error: unknown) => this.#loseIfClosed(error));
  }

  /** Checks after a wake-up whether this work was changed. */
  #lookAgain(): void {
    // A wake-up is a hint: settling reports other errors.
    this.#poll().catch((error: unknown) => this.#loseIfClosed(error));
  }

  /** The hub was closed: nothing can be settled any more. */
  #loseIfClosed(error: unknown): void {
    if (isBatonError(error) && error.code === "store_closed") this.#lose(error);
  }

  async #poll(): Promise<void> {
    if (this.#settled || this.#pending !== undefined) return;
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    const { state, fence } = found?.delivery ?? this.#delivery;
    if (
      !this.#settled &&
      this.#pending === undefined &&
      !(isHeld(state) && fence === this.#delivery.fence)
    ) {
      this.#lose(leaseLost(this.id, found?.delivery));
    }
    await this.#notifyExtension();
    await this.#notifyWarnings();
  }

  #forgetLifted(all: readonly Warning[]): void {
    const current = new Set(all.map(({ memory }) => memory));
    for (const memory of this.#warned.keys()) if (!current.has(memory)) this.#warned.delete(memory);
  }

  /** Reports each warning once; one that was lifted and returns is reported again. */
  async #notifyWarnings(): Promise<void> {
    if (this.#settled || this.#listeners.warned.size === 0) return;
    const all = await this.warnings();
    this.#forgetLifted(all);
    const news = all.filter(({ memory, record }) => this.#warned.get(memory)?.record !== record);
    for (const warning of news) this.#warned.set(warning.memory, warning);
    if (news.length > 0 && !this.#settled) notifyListeners(this.#listeners.warned, news);
  }

  /**
   * Moves on to a newer envelope only if the holder is notified of it, by a listener or by settling. An
   * envelope that the holder was not notified of does not count as seen.
   */
  async #notifyExtension(): Promise<void> {
    if (this.#settled || this.#listeners.extended.size === 0) return;
    const current = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    if (current === undefined || current.envelope.id === this.#sealed.id) return;
    this.#extend(current.envelope);
    notifyListeners(this.#listeners.extended, this.envelope);
  }

  #refuseSettled(): void {
    if (this.#lost !== undefined) throw this.#lost;
    if (!this.#settled && this.#pending === undefined) return;
    throw alreadySettled(this.id);
  }

  /**
   * Marks the lease as lost. Work that this holder settled itself has ended and is not lost, so a late note
   * or heartbeat changes nothing.
   */
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
