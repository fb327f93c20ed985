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
import type { CheckedWorkOptions } from "../../delivery/receive/receive-options.ts";
import type { Result } from "../../delivery/send/result.ts";
import { checkValue, functionCheck } from "../../envelope/check-options.ts";
import type { Work } from "../work.ts";
import { MAX_TIMER_MS, RENEWALS_PER_LEASE } from "../work-helpers.ts";
import { Moment } from "./moment.ts";
import { type HandlerEnd, settleByOutcome } from "./settle-by-outcome.ts";
import type { WorkContext, WorkHandler, WorkSummary } from "./work-handler.ts";
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
  /** From this moment on nothing is claimed. */
  readonly #stop = new Moment();
  /** From this moment on no handler is waited for. */
  readonly #graceOver = new Moment();
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #slots: Promise<void>[] = [];
  readonly #running = new Set<Work<T>>();
  /** Work whose lease is being renewed. */
  readonly #renewing = new Set<Work<T>>();
  /** A slot waits at the store. */
  #isWaiting = false;
  /** Slots that claim or run a handler. */
  #busy = 0;
  /** Slots that found nothing, and continue when another one may have more luck. */
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
    for (let n = 0; n < GROWTH && !this.#stop.hasCome; n++) {
      const parked = this.#parked.pop();
      if (parked !== undefined) parked();
      else if (this.#slots.length < this.#options.concurrency) this.#addSlot();
    }
  }

  /** Waits until another slot finds work or, without `wait`, until its handler may have made some ready. */
  async #park(): Promise<void> {
    const { wait } = this.#options;
    if (this.#stop.hasCome || (wait && !this.#isWaiting)) return;
    this.#busy--;
    if (this.#busy === 0 && !wait) return this.#stopClaiming(); // Nothing is ready, and no handler runs.
    await new Promise<void>((resolve) => void this.#parked.push(resolve));
    this.#busy++;
  }

  // Claiming ------------------------------------------------------------------------------------

  /** Returns the next work; undefined after a stop. `claimed`: what completing the last work claimed. */
  async #nextWork(claimed: ClaimedWork<T> | undefined): Promise<Work<T> | undefined> {
    for (let failures = 0; claimed !== undefined || !this.#stop.hasCome; ) {
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
        if (await this.#canRetry(error, ++failures)) continue;
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

  /** Claims what is ready. If nothing is, one slot waits for it. */
  async #claim(): Promise<Work<T> | undefined> {
    const ready = await this.#accept({ wait: false });
    const waits = this.#options.wait && !this.#isWaiting && !this.#stop.hasCome;
    if (ready !== undefined || !waits) return ready;
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
  async #canRetry(error: unknown, failures: number): Promise<boolean> {
    if (isBatonError(error) && error.retryable) {
      return this.#stop.sleep(this.#source.pauseMs(failures));
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
        return end.kind === "completed" ? end.next : undefined;
      }
    } finally {
      this.#running.delete(work);
      if (!this.#options.wait) for (const parked of this.#parked.splice(0, GROWTH)) parked();
    }
  }

  readonly #settling = {
    complete: (work: Work<T>, result: Result) =>
      this.#source.complete(work, result, !this.#stop.hasCome),
    pause: (failures: number) => this.#graceOver.sleep(this.#source.pauseMs(failures)),
  };

  #runHandler(work: Work<T>): Promise<HandlerEnd> {
    if (this.#graceOver.hasCome) return Promise.resolve({ kind: "overdue" });
    return new Promise((resolve) => {
      const remove = this.#graceOver.on(() => resolve({ kind: "overdue" }));
      void this.#callHandler(work).then((end) => {
        remove();
        resolve(end);
      });
    });
  }

  async #callHandler(work: Work<T>): Promise<HandlerEnd> {
    try {
      const value = await this.#handler(work, handlerContext(work, this.#graceOver.signal));
      return { kind: "returned", value };
    } catch (error) {
      return { kind: "threw", error };
    }
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
    if (this.#stop.hasCome) return;
    this.#stop.come();
    for (const parked of this.#parked.splice(0)) parked();
    const graceMs = Math.min(this.#options.graceMs, MAX_TIMER_MS);
    this.#graceTimer = setTimeout(() => this.#graceOver.come(noMoreTime()), graceMs);
  }
}

/** The signal is made on first access, because listening for changes costs requests. */
function handlerContext<T>(work: Work<T>, graceOver: AbortSignal): WorkContext {
  let signal: AbortSignal | undefined;
  return {
    get signal() {
      signal ??= AbortSignal.any([work.signal, graceOver]);
      return signal;
    },
  };
}

const noMoreTime = (): Error =>
  new DOMException("The worker stops: the time to finish is over.", "AbortError");
