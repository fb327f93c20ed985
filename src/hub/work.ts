/**
 * Work: what a receiver has after accepting. Holds the lease (renewed by every call and, unless it
 * is a session's, by a heartbeat while the process lives), and ends by completing, handing on,
 * failing, declining or releasing. Left unsettled at the end of its block, it releases itself as a
 * counted try.
 */

import { canonicalJson } from "../base/canonical.ts";
import { BatonError, type ErrorCode, isBatonError } from "../base/errors.ts";
import { type CheckedContext, checkContext } from "../context/view/gaps.ts";
import { primerOf } from "../context/view/primer.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import {
  type Reserved,
  type ReserveOptions,
  reserve,
  unreserve,
} from "../coordination/reservations/reserve.ts";
import type { Worker } from "../delivery/receive/worker.ts";
import { afterHandingOn, handOver } from "../delivery/send/handoff.ts";
import type { Sender, Sending } from "../delivery/send/plan.ts";
import type { CheckedResult, Result } from "../delivery/send/result.ts";
import { nextReceiver } from "../delivery/settings/routes.ts";
import {
  ask,
  complete,
  decline,
  type Failure,
  fail,
  releaseNewest,
  resultFor,
  type Settled,
} from "../delivery/settle/settle.ts";
import { type Noted, note } from "../delivery/work/note.ts";
import { effectOf, keyWithin, type Once, once } from "../delivery/work/once.ts";
import { type ReadMemory, readAsked } from "../delivery/work/read-record.ts";
import { handleOf } from "../delivery/work/resume.ts";
import {
  type Asked,
  askedFor,
  type ShownView,
  shownTo,
  viewFor,
  viewsOf,
  type WorkViewOptions,
} from "../delivery/work/views.ts";
import { type Warning, warningsOf } from "../delivery/work/warnings.ts";
import { COMPLETED, resultType } from "../envelope/own-names.ts";
import type { DraftOf, Envelope, EnvelopeOf, Level } from "../envelope/schema.ts";
import type { SecretAt } from "../envelope/secrets-within.ts";
import { type Background, backgroundOf, NO_BACKGROUND } from "../history/background.ts";
import type { EarlierAttempt } from "../history/earlier-attempts.ts";
import { leaseLost } from "../history/lease-lost.ts";
import type { LedgerProgress } from "../ledger/ledger.ts";
import { forWork, type WorkMerge } from "../memory/branches/work-branch.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { Told } from "../memory/redaction/secret-policy.ts";
import { type TraceStep, traceSteps } from "../memory/traces/trace.ts";
import type { ViewGap } from "../memory/view-gap.ts";
import { parseEnvelope, touchesOf } from "../store/parse-envelope.ts";
import { type DeliveryRow, type EnvelopeRow, isHeld } from "../store/rows.ts";
import type { Claimed, Lease } from "../store/store.ts";
import { followUp } from "../workspace/follow-up.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { WorkForm } from "./forms.ts";
import type { Public } from "./public.ts";
import { LocalSent, type Sent } from "./sent.ts";

/** What a timer can count to; longer ones would go off at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Errors that say that the work is not this holder's any more. */
const LOST: readonly ErrorCode[] = ["lease_lost", "cancelled"];
export const isLoss = (error: unknown): error is BatonError =>
  isBatonError(error) && LOST.includes(error.code);

/** How often whoever wants to be told looks although nobody called: a wake-up is only a hint. */
const SAFETY_LOOK_MS = 2_000;

/** Renewals per lease: two may fail before the third is late. */
export const BEATS_PER_LEASE = 3;

/** The answer to settling: done, or told of an addition that has to be looked at first. */
export type Settling<T> =
  | {
      readonly kind: "settled";
      readonly delivery: DeliveryRow;
      /** What came of merging its branch, when completing it was to do that. */
      readonly merge?: WorkMerge;
      /** Which secrets were taken out of what was said, where there were any. */
      readonly secrets?: readonly SecretAt[];
    }
  | { readonly kind: "extended"; readonly envelope: EnvelopeOf<T> };

/** What a receiver has after accepting. */
export type Work<T = unknown> = Public<Omit<LocalWork<T>, "unwatch">>;

export class LocalWork<T = unknown> implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #holder: Worker;
  readonly #delivery: DeliveryRow;
  #leaseUntil: number;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  /** Set while somebody wants to be told of additions. */
  #unlisten: (() => void) | undefined;
  #onExtended: ((envelope: EnvelopeOf<T>) => void) | undefined;
  #onWarned: ((warnings: readonly Warning[]) => void) | undefined;
  /** What this holder was warned of: by memory, the record that says so. */
  readonly #warned = new Map<string, string>();
  /** The newest envelope this holder has been told of; parsed when it is first looked at. */
  #sealed: EnvelopeRow;
  #envelope: EnvelopeOf<T> | undefined;
  #abort: AbortController | undefined;
  #lost: BatonError | undefined;
  #settled = false;
  /** When a trace last asked for more time. */
  #renewedAt = performance.now();
  /** The settlement that was sent and is not yet answered. */
  #pending: Promise<unknown> | undefined;
  /** What was shown, by how it was asked for. */
  readonly #views = new Map<string, Promise<ShownView>>();
  /** What the view that was composed last could not find. */
  #gaps: readonly ViewGap[] = [];
  /** Who worked on the same when this holder last reserved, and whether it has. */
  #conflicts: readonly ReservationConflict[] = [];
  #reserved = false;
  /** Accepted in another process: what was shown there is not known here. */
  readonly #resumed: boolean;
  readonly #background: Background;

  constructor(
    workspace: Workspace,
    holder: Worker,
    claimed: Claimed,
    {
      background = NO_BACKGROUND,
      resumed = false,
    }: { readonly background?: Background; readonly resumed?: boolean } = {},
  ) {
    this.#background = background;
    this.#resumed = resumed;
    this.#reserved = resumed; // It may have been, in the process that accepted it.
    this.#workspace = workspace;
    this.#holder = holder;
    this.#delivery = claimed.delivery;
    this.#leaseUntil = claimed.delivery.leaseUntil;
    this.#sealed = claimed.envelope;
    if (holder.lease === "session") return;
    const beat = Math.min(workspace.limits.leaseMs / BEATS_PER_LEASE, LONGEST_TIMER_MS);
    this.#heartbeat = setInterval(() => this.#beat(), beat).unref();
  }

  /**
   * What was just accepted: where the handoff says what its work will touch, that is reserved. It is
   * accepted either way, and then still one operation: a reservation that failed is told to whoever
   * subscribes, like everything that follows from what is stored.
   */
  static async begin<T>(
    workspace: Workspace,
    holder: Worker,
    claimed: Claimed,
    known?: Background,
  ): Promise<Work<T>> {
    const background = known ?? (await backgroundOf(workspace, claimed));
    const work = new LocalWork<T>(workspace, holder, claimed, { background });
    if (touchesOf(claimed.envelope).length > 0) {
      await followUp(`reserve ${work.id}`, async () => {
        await work.#reserve(undefined);
      });
    }
    return work;
  }

  get id(): string {
    return this.#delivery.id;
  }

  /** What `agent.resume()` goes on from, also in another process. Good while the work is held. */
  get handle(): string {
    return handleOf(this.#delivery);
  }

  /** As it travels. */
  toJSON(): WorkForm {
    const { handle, conflicts } = this;
    const envelope = this.envelope as Envelope;
    return { handle, delivery: this.#delivery, envelope, conflicts, ...this.#background };
  }

  /** What was handed over: the newest envelope this holder was told of. */
  get envelope(): EnvelopeOf<T> {
    this.#envelope ??= parseEnvelope(this.#workspace, this.#sealed) as EnvelopeOf<T>;
    return this.#envelope;
  }

  get task(): string {
    return this.#sealed.task;
  }

  get attempt(): number {
    return this.#delivery.attempt;
  }

  /** Until when it is held, in the store's time, unless the lease is renewed: the last that was heard. */
  get leaseUntil(): number {
    return this.#leaseUntil;
  }

  /** The record this work began with; it continues from the handoff. */
  get acceptedBy(): string {
    return this.#delivery.acceptedBy;
  }

  /** Tried before: whoever had it may have done part of it. */
  get redelivered(): boolean {
    return this.#delivery.attempt > 1;
  }

  /** Aborted when the work is no longer this holder's: cancelled, or lost. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#lost !== undefined) this.#abort.abort(this.#lost);
    this.#listen();
    return this.#abort.signal;
  }

  /** Called when the sender adds to the handoff while it is held. */
  set onExtended(tell: ((envelope: EnvelopeOf<T>) => void) | undefined) {
    this.#onExtended = tell;
    this.#listen();
  }

  get onExtended(): ((envelope: EnvelopeOf<T>) => void) | undefined {
    return this.#onExtended;
  }

  /** Called when something this work carries is quarantined, also when it was before. */
  set onWarned(tell: ((warnings: readonly Warning[]) => void) | undefined) {
    this.#onWarned = tell;
    this.#listen();
  }

  get onWarned(): ((warnings: readonly Warning[]) => void) | undefined {
    return this.#onWarned;
  }

  /** Whoever wanted to be told does not any more: the work goes on, held or not. */
  unwatch(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#onExtended = undefined;
    this.#onWarned = undefined;
  }

  /** What this work carries that is quarantined: not to be built on. */
  async warnings(): Promise<readonly Warning[]> {
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    return warningsOf(this.#workspace, found ?? this.#hold());
  }

  /**
   * What to know before the first step, in less than two kilobytes: who am I, which task, what do I do
   * now, what must I not redo, what failed before. Made from the envelope and what was known on accepting.
   */
  get primer(): string {
    return primerOf(this.envelope as Envelope, this.#holder, this.#background);
  }

  /** Earlier attempts at it, oldest first: what was tried, why it ended, questions and answers. */
  get attempts(): readonly EarlierAttempt[] {
    return this.#background.attempts;
  }

  /** What earlier handoffs of the task reported as done, not to be redone, or blocked. */
  get progress(): readonly LedgerProgress[] {
    return this.#background.progress;
  }

  /**
   * What this receiver gets of the handoff within its budget: text to paste, what was left out, what went
   * stale, what is missing. Written down before it is shown; asked the same again, also in another process,
   * it is the same. With `anew` from what there is now.
   */
  async view(options: WorkViewOptions = {}): Promise<ShownView> {
    const asked = askedFor(options);
    const key = canonicalJson([this.#sealed.id, asked.key], "invalid_input");
    const before = asked.anew ? undefined : this.#views.get(key);
    if (before !== undefined) return before;
    const composing = this.#compose(asked);
    this.#views.set(key, composing);
    composing.catch(() => this.#views.delete(key));
    return composing;
  }

  /** What each holder of this delivery was shown. */
  async views(): Promise<readonly ShownView[]> {
    return viewsOf(forWork(this.#workspace, this.#sealed), this.id);
  }

  /** Every reference and file of the handoff, as it is now: fresh, stale or gone. */
  async freshness(): Promise<CheckedContext> {
    const here = forWork(this.#workspace, this.#sealed);
    const checked = await checkContext(here, this.envelope);
    await this.renew();
    return checked;
  }

  /**
   * A record the handoff refers to, one by its short id in a view, or any other of the workspace: the freshest, which says so when it
   * superseded the one that was asked for. With a level also its text, as short as that.
   */
  async read(id: string, level?: Level): Promise<ReadMemory> {
    const options = { freshest: true, of: this.id, ...(level === undefined ? {} : { level }) };
    const here = forWork(this.#workspace, this.#sealed);
    const memory = await readAsked(here, id, options, this.envelope.refs);
    await this.renew();
    return memory;
  }

  /**
   * Says what this work is on, and tells who else works there: files or resources by glob, instead of
   * what it had reserved; without any, what the handoff says the work will touch. Good while the work is
   * held. Nothing is refused to anybody because of it.
   */
  async reserve(
    globs?: string | readonly string[],
    options: ReserveOptions = {},
  ): Promise<Reserved> {
    this.#refuseSettled();
    await this.renew();
    return this.#reserve(globs, options);
  }

  /** Takes back what it has reserved. */
  async unreserve(): Promise<void> {
    await unreserve(this.#workspace, this.#delivery);
    this.#conflicts = [];
    this.#reserved = false;
  }

  /** Who else works on what this work has reserved, as of when it did: at accepting, or later. */
  get conflicts(): readonly ReservationConflict[] {
    return this.#conflicts;
  }

  /** Writes down a step, finding or question of this work. */
  async note(input: MemoryInput | string): Promise<Noted> {
    const described = typeof input === "string" ? { content: input } : input;
    const noted = await note(this.#workspace, this.#holder, this.#hold(), described);
    if (noted.kind === "kept") this.#lose(leaseLost(this.id, noted.delivery));
    else if (noted.envelope !== this.#sealed.id) await this.#tellExtension();
    return noted;
  }

  /** Notes down what was done, on the trace of this session, as a step of this task. */
  trace(step: TraceStep): Promise<Told<Memory>>;
  trace(steps: readonly TraceStep[]): Promise<Told<Memory>[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const all = this.#traceAll(many ? step : [step]);
    const traced = many ? all : all.then((memories) => memories[0] as Memory);
    traced.catch(() => {}); // As an agent's: tracing alone never ends a process.
    return traced;
  }

  /**
   * Hands in the result, held against what the handoff expects. If the result has an `outcome` that a
   * route leads on from, the task is handed on with it, in the same operation.
   */
  async complete(result: Result = {}): Promise<Settling<T>> {
    if (result?.outcome !== undefined) {
      const checked = await resultFor(this.#workspace, this.#hold(), result);
      const next = await this.#routeOf(checked);
      if (next !== undefined) return this.#handOn(next, checked);
    }
    const gaps = this.#resumed ? await this.#gapsBefore() : this.#gaps;
    return this.#settle((hold) =>
      complete(this.#workspace, this.#holder, { ...hold, gaps }, result),
    );
  }

  /** Asks the sender. The work is let go, and offered again together with the answer. */
  async clarify(question: string): Promise<Settling<T>> {
    return this.#settle((hold) => ask(this.#workspace, this.#holder, hold, question));
  }

  /** Runs an effect once for this piece of work, however often it is redelivered. */
  async once<Value>(key: string, effect: () => Promise<Value> | Value): Promise<Once<Value>> {
    const own = effectOf(keyWithin(this.id, key), effect);
    this.#refuseSettled();
    await this.renew(); // Not any more when it is cancelled, or somebody else's.
    return once(this.#workspace, this.#holder.agent, own.key, own.effect);
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
    await this.#letGo();
    return delivery;
  }

  /** Hands the task on: completes this work and sends the next envelope, in one operation. */
  async handoff<Next extends object = object>(
    draft: Omit<DraftOf<Next>, "task" | "intent"> & Partial<Pick<DraftOf<Next>, "task" | "intent">>,
    sending: Pick<Sending, "completes" | "receivers" | "result"> = {},
  ): Promise<Sent<Next> | Extract<Settling<T>, { kind: "extended" }>> {
    const gaps = this.#resumed ? await this.#gapsBefore() : this.#gaps;
    this.#refuseSettled();
    const sender: Sender = {
      ...this.#holder,
      work: {
        lease: this.#lease(),
        envelope: this.envelope as Envelope,
        acceptedBy: this.acceptedBy,
        gaps,
      },
    };
    const full = { intent: this.envelope.intent, task: this.task, ...draft };
    const outcome = await this.#ending(handOver<Next>(this.#workspace, sender, full, sending));
    switch (outcome.kind) {
      case "sent":
        this.#end();
        await this.#letGo();
        await afterHandingOn(this.#workspace, this.id);
        return new LocalSent<Next>(this.#workspace, sender, outcome);
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
    this.#leaseUntil = outcome.delivery.leaseUntil;
    if (outcome.delivery.envelope !== this.#sealed.id) await this.#tellExtension();
  }

  async #traceAll(steps: readonly TraceStep[]): Promise<Memory[]> {
    const own = steps.map((step) => ({ task: this.task, ...step }));
    const traced = traceSteps(this.#workspace, this.#holder, own);
    await this.#renewNowAndThen();
    return traced;
  }

  /** Calls come by the hundred: as often as a heartbeat is enough. A loss is told by the signal. */
  async #renewNowAndThen(): Promise<void> {
    const now = performance.now();
    if (now - this.#renewedAt < this.#workspace.limits.leaseMs / BEATS_PER_LEASE) return;
    this.#renewedAt = now;
    await this.renew().catch(() => {});
  }

  /** The end of the block: what was not settled goes back, unless it was lost already. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pending?.catch(() => {}); // Told to whoever settled it.
    if (this.#settled) return;
    await this.release().catch((error: unknown) => {
      if (this.#lost === undefined) throw error;
    });
  }

  async #compose(asked: Asked): Promise<ShownView> {
    try {
      const { view, envelope } = await viewFor(this.#workspace, this.#holder, this.#hold(), asked);
      this.#gaps = view.gaps;
      if (envelope !== this.#sealed.id) await this.#tellExtension();
      return view;
    } catch (error) {
      if (isLoss(error)) throw this.#lose(error);
      throw error;
    }
  }

  /** What was found missing in the process before this one; a handoff that refers to nothing lacks nothing. */
  async #gapsBefore(): Promise<readonly ViewGap[]> {
    if (this.envelope.refs.length === 0) return [];
    return (await shownTo(this.#workspace, this.#delivery)).gaps;
  }

  async #routeOf({ outcome }: CheckedResult): Promise<string | undefined> {
    const from = this.#holder.agent;
    const leaving = { from, task: this.task, action: COMPLETED, payload: undefined };
    return nextReceiver(this.#workspace, { ...leaving, result: outcome }, true);
  }

  async #handOn(to: string, result: CheckedResult): Promise<Settling<T>> {
    const { summary, outputs, outcome } = result;
    const payload = outputs && { type: resultType(outcome), data: outputs };
    const draft = {
      to,
      action: COMPLETED,
      ...(summary === undefined ? {} : { state: summary }),
      ...(payload && { payload }),
      constraints: this.envelope.constraints,
    };
    const sent = await this.handoff(draft, { completes: result });
    if (sent.kind === "extended") return sent;
    const found = await this.#workspace.store.findDelivery(this.#workspace.name, this.id);
    return { kind: "settled", delivery: found?.delivery ?? this.#delivery };
  }

  /** Calls that concern this agent may concern this work: an addition, or that it was cancelled. */
  #listen(): void {
    if (this.#settled || this.#unlisten !== undefined) return;
    const whom = { workspace: this.#workspace.name, agent: this.#holder.agent };
    const unlisten = this.#workspace.store.onWake(whom, () => this.#lookAgain());
    const looks = setInterval(() => this.#lookAgain(), SAFETY_LOOK_MS).unref();
    this.#unlisten = () => {
      unlisten();
      clearInterval(looks);
    };
    this.#lookAgain(); // It may have happened before anybody listened.
  }

  async #settle(settling: (hold: Claimed) => Promise<Settled>): Promise<Settling<T>> {
    this.#refuseSettled();
    const outcome = await this.#ending(settling(this.#hold()));
    if (outcome.kind === "extended") return this.#extend(outcome.envelope);
    this.#end();
    await this.#letGo();
    return outcome;
  }

  async #reserve(
    globs: string | readonly string[] | undefined,
    options: ReserveOptions = {},
  ): Promise<Reserved> {
    const delivery = { ...this.#delivery, leaseUntil: this.#leaseUntil };
    const hold = { delivery, envelope: this.#sealed };
    this.#reserved = true; // From the first moment it may be.
    const reserved = await reserve(this.#workspace, hold, globs, options);
    this.#conflicts = reserved.conflicts;
    return reserved;
  }

  /** A reservation ends with the work; what is left of it is taken away, here or by who comes across it. */
  async #letGo(): Promise<void> {
    if (!this.#reserved) return;
    await followUp(`unreserve ${this.id}`, () => unreserve(this.#workspace, this.#delivery));
  }

  /** A lost lease ends this work; the caller is told by the error and by the signal. */
  async #ending<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
    this.#pending = outcome;
    try {
      return await outcome;
    } catch (error) {
      if (isLoss(error)) this.#lose(error);
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

  /** Somebody did something that concerns this agent: it may be this work. */
  #lookAgain(): void {
    this.#look().catch(() => {}); // A hint only: settling tells of it all the same.
  }

  async #look(): Promise<void> {
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
    await this.#tellExtension();
    await this.#tellWarnings();
  }

  /** Each warning once; one that was lifted and comes back is another. */
  async #tellWarnings(): Promise<void> {
    if (this.#settled || this.#onWarned === undefined) return;
    const all = await this.warnings();
    const news = all.filter(({ memory, record }) => this.#warned.get(memory) !== record);
    for (const { memory, record } of news) this.#warned.set(memory, record);
    const tell = this.#onWarned;
    if (news.length > 0 && !this.#settled) queueMicrotask(() => tell(news));
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
    throw alreadySettled(this.id);
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

export const alreadySettled = (id: string): BatonError =>
  new BatonError("already_settled", {
    message: `The work of ${id} was settled before, or is being settled.`,
    path: "work",
    hint: "A piece of work is completed, failed, declined, released or handed on once.",
  });
