/**
 * The loop of `agent.work()`: claims handoffs, runs a handler on each, and settles them by what the handler
 * does. It never holds more work than handlers can run. The same loop runs in the hub's process and over HTTP
 * (`WorkSource`).
 *
 * A slot runs one handler at a time. The loop starts with one slot. Whenever a claim finds work, two more slots
 * claim, up to the concurrency: with much work, all of them run after a few rounds, and an idle loop makes one
 * claim at a time. A slot that completes work continues with what it claimed in the same transaction; otherwise
 * it claims. While nothing is ready, one slot waits at the store, and the others are parked.
 *
 * A stop (the signal, the closing hub, an error of claiming) ends the claiming. Running handlers get the grace
 * period; then their signal aborts, their work is released, and the loop ends without waiting for them.
 */
import { isBatonError } from "../../base/errors.ts";
import type { Result } from "../../delivery/send/result.ts";
import { checkValue, functionCheck } from "../../envelope/check-options.ts";
import type { Work } from "../work.ts";
import { MAX_TIMER_MS, RENEWALS_PER_LEASE } from "../work-helpers.ts";
import { OneTimeEvent } from "./one-time-event.ts";
import { type HandlerEnd, settleByOutcome } from "./settle-by-outcome.ts";
import type { WorkContext, WorkHandler, WorkSummary } from "./work-handler.ts";
import type { CheckedWorkOptions } from "./work-options.ts";
import type { ClaimedWork, WorkSource } from "./work-source.ts";

/** Slots that are added or continue when one finds work. */
const GROWTH = 2;

/**
 * Runs a handler on the work of a source until the loop is stopped. Rejects with an error of claiming that a
 * retry cannot help.
 */
export function runWorkLoop<T>(
  source: WorkSource<T>,
  handler: WorkHandler<T>,
  options: CheckedWorkOptions,
): Promise<WorkSummary> {
  checkValue(handler, functionCheck, "The handler", "handler");
  return new WorkLoop(source, handler, options).run();
}

class WorkLoop<T> {
  readonly #source: WorkSource<T>;
  readonly #handler: WorkHandler<T>;
  readonly #options: CheckedWorkOptions;
  readonly #counts = { completed: 0, failed: 0, released: 0, lost: 0, settledByHandler: 0 };
  /** After it nothing is claimed. */
  readonly #stop = new OneTimeEvent();
  /** After it no handler is waited for. */
  readonly #graceOver = new OneTimeEvent();
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #slots: Promise<void>[] = [];
  readonly #running = new Set<Work<T>>();
  /** Work whose lease is being renewed. */
  readonly #renewing = new Set<Work<T>>();
  /** A slot waits at the store. */
  #isWaiting = false;
  /** Slots that claim or run a handler. */
  #busy = 0;
  /** Idle slots; resumed when another slot finds work. */
  readonly #parked: (() => void)[] = [];
  /** A claim has succeeded, so the hub was open when the loop began. */
  #hasClaimed = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(source: WorkSource<T>, handler: WorkHandler<T>, options: CheckedWorkOptions) {
    this.#source = source;
    this.#handler = handler;
    this.#options = options;
  }

  async run(): Promise<WorkSummary> {
    const { signal } = this.#options;
    const onAbort = () => this.#stopClaiming();
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    const renewing = this.#renewSessionLeases();
    try {
      this.#addSlot();
      for (const slot of this.#slots) await slot; // Slots are added meanwhile.
    } finally {
      clearInterval(renewing);
      clearTimeout(this.#graceTimer);
      signal?.removeEventListener("abort", onAbort);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return { ...this.#counts };
  }

  // Slots ---------------------------------------------------------------------------------------

  #addSlot(): void {
    this.#busy++;
    this.#slots.push(this.#runSlot());
  }

  /** Never rejects: an error ends the loop. */
  async #runSlot(): Promise<void> {
    let claimed: ClaimedWork<T> | undefined;
    try {
      for (;;) {
        const work = await this.#nextWork(claimed);
        if (work === undefined) return;
        claimed = await this.#process(work);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** More work may be ready where some was. */
  #grow(): void {
    for (let n = 0; n < GROWTH && !this.#stop.hasOccurred; n++) {
      const parked = this.#parked.pop();
      if (parked !== undefined) parked();
      else if (this.#slots.length < this.#options.concurrency) this.#addSlot();
    }
  }

  /** Waits until another slot finds work or, without `wait`, until its handler may have made some ready. */
  async #park(): Promise<void> {
    const { wait } = this.#options;
    if (this.#stop.hasOccurred || (wait && !this.#isWaiting)) return;
    this.#busy--;
    if (this.#busy === 0 && !wait) return this.#stopClaiming(); // Nothing is ready, and no handler runs.
    await new Promise<void>((resolve) => void this.#parked.push(resolve));
    this.#busy++;
  }

  // Claiming ------------------------------------------------------------------------------------

  /** Returns the next work; undefined after a stop. `claimed`: what completing the last work claimed. */
  async #nextWork(claimed: ClaimedWork<T> | undefined): Promise<Work<T> | undefined> {
    for (let failures = 0; claimed !== undefined || !this.#stop.hasOccurred; ) {
      try {
        if (claimed !== undefined) return await claimed();
        const work = await this.#claim();
        failures = 0;
        if (work !== undefined) {
          this.#grow();
          return work;
        }
        await this.#park();
      } catch (error) {
        // What is claimed already may still begin after a stop.
        const end = claimed === undefined ? this.#stop : this.#graceOver;
        if (await this.#canRetry(error, ++failures, end)) continue;
        if (claimed !== undefined) this.#counts.lost++; // Its lease ends by itself.
        return undefined;
      }
    }
    return undefined;
  }

  async #accept(waiting: Parameters<WorkSource<T>["accept"]>[0]): Promise<Work<T> | undefined> {
    const work = await this.#source.accept(waiting);
    this.#hasClaimed = true;
    return work;
  }

  /** Claims what is ready. If nothing is, one slot waits for it; the others return. */
  async #claim(): Promise<Work<T> | undefined> {
    if (!this.#options.wait || this.#isWaiting) return this.#accept({ wait: false });
    this.#isWaiting = true;
    try {
      const work = await this.#accept({ wait: true, signal: this.#stop.signal });
      if (work === undefined) this.#stopClaiming(); // The hub was closed, if the loop was not stopped.
      return work;
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Waits before the next claim after an error that a retry can help; any other error ends the loop. */
  async #canRetry(error: unknown, failures: number, end: OneTimeEvent): Promise<boolean> {
    if (isBatonError(error) && error.retryable) {
      this.#report(error);
      return end.sleep(this.#source.pauseMs(failures));
    }
    this.#fail(error);
    return false;
  }

  // Handlers ------------------------------------------------------------------------------------

  /** Runs the handler and settles the work. Returns what was claimed in the same transaction. */
  async #process(work: Work<T>): Promise<ClaimedWork<T> | undefined> {
    this.#running.add(work);
    try {
      for (;;) {
        const end = await settleByOutcome(this.#settling, work, await this.#runHandler(work));
        if (end.kind === "extended") continue; // The handler has not seen the new envelope.
        this.#counts[end.kind]++;
        if (end.kind === "lost") this.#source.abandon(work);
        return end.kind === "completed" ? end.next : undefined;
      }
    } catch (error) {
      this.#source.abandon(work);
      throw error;
    } finally {
      this.#running.delete(work);
      if (!this.#options.wait) for (const parked of this.#parked.splice(0, GROWTH)) parked();
    }
  }

  readonly #settling = {
    complete: (work: Work<T>, result: Result) =>
      this.#source.complete(work, result, !this.#stop.hasOccurred),
    pause: (failures: number) => this.#graceOver.sleep(this.#source.pauseMs(failures)),
    report: (error: unknown, work: Work<T>) => this.#report(error, work),
  };

  #runHandler(work: Work<T>): Promise<HandlerEnd> {
    if (this.#graceOver.hasOccurred) return Promise.resolve({ kind: "overdue" });
    return new Promise((resolve) => {
      const remove = this.#graceOver.on(() => resolve({ kind: "overdue" }));
      void this.#callHandler(work).then((end) => {
        remove();
        resolve(end);
      });
    });
  }

  async #callHandler(work: Work<T>): Promise<HandlerEnd> {
    const context = new HandlerContext(work, this.#graceOver);
    try {
      return { kind: "returned", value: await this.#handler(work, context) };
    } catch (error) {
      this.#report(error, work);
      return { kind: "threw", error };
    } finally {
      context.end();
    }
  }

  /** Called in a microtask, so that an error of the callback does not change how work is settled. */
  #report(error: unknown, work?: Work<T>): void {
    const { onError } = this.#options;
    if (onError !== undefined) queueMicrotask(() => onError(error, work as Work | undefined));
  }

  /** Renews the leases that only calls renew, so that a long handler keeps its work. */
  #renewSessionLeases(): ReturnType<typeof setInterval> | undefined {
    const { lease, leaseMs } = this.#source;
    if (lease !== "session") return undefined;
    const renewAll = () => {
      for (const work of this.#running) void this.#renew(work);
    };
    return setInterval(renewAll, Math.min(leaseMs / RENEWALS_PER_LEASE, MAX_TIMER_MS));
  }

  /** One call at a time, so that calls do not pile up in an outage. The work's signal reports a loss. */
  async #renew(work: Work<T>): Promise<void> {
    if (this.#renewing.has(work)) return;
    this.#renewing.add(work);
    await work.renew().catch(() => {});
    this.#renewing.delete(work);
  }

  // The end -------------------------------------------------------------------------------------

  /** Closing the hub ends a loop without an error; only a loop that begins on a closed hub is refused. */
  #fail(error: unknown): void {
    const isClosed = isBatonError(error) && error.code === "store_closed";
    if (!(isClosed && this.#hasClaimed)) this.#failure ??= { error };
    this.#stopClaiming();
  }

  #stopClaiming(): void {
    if (this.#stop.hasOccurred) return;
    this.#stop.fire();
    for (const parked of this.#parked.splice(0)) parked();
    const graceMs = Math.min(this.#options.graceMs, MAX_TIMER_MS);
    this.#graceTimer = setTimeout(() => this.#graceOver.fire(graceExpired(graceMs)), graceMs);
  }
}

/** What a handler gets besides the work. Its signal is made on first access: listening for changes costs requests. */
class HandlerContext<T> implements WorkContext {
  readonly #work: Work<T>;
  readonly #graceOver: OneTimeEvent;
  #controller: AbortController | undefined;
  #hasEnded = false;
  #stopListening: (() => void) | undefined;

  constructor(work: Work<T>, graceOver: OneTimeEvent) {
    this.#work = work;
    this.#graceOver = graceOver;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (!this.#hasEnded) this.#listen(this.#controller);
    }
    return this.#controller.signal;
  }

  /** Removes its listeners: the loop outlives it. `AbortSignal.any()` would be kept by the loop's signal. */
  end(): void {
    this.#hasEnded = true;
    this.#stopListening?.();
  }

  #listen(controller: AbortController): void {
    const { signal } = this.#work;
    const graceOver = this.#graceOver;
    const onLost = () => controller.abort(signal.reason);
    const onGraceOver = () => controller.abort(graceOver.signal.reason);
    const remove = graceOver.on(onGraceOver);
    signal.addEventListener("abort", onLost, { once: true });
    this.#stopListening = () => {
      signal.removeEventListener("abort", onLost);
      remove();
    };
    if (graceOver.hasOccurred) onGraceOver();
    if (signal.aborted) onLost();
  }
}

const graceExpired = (graceMs: number): Error =>
  new DOMException(
    `The worker was stopped, and its grace period of ${graceMs} ms has expired.`,
    "AbortError",
  );
