/**
 * Looking out for work. Between two looks it sleeps until the store says that something concerns
 * this receiver, until a retry or an expiring lease falls due, or (because a wake-up is a hint and
 * may be lost) until the next look that it takes anyway.
 */
import { isBatonError } from "../errors.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { type ClaimRequest, claim } from "./claim.ts";
import { goneProcesses } from "./gone.ts";
import type { Worker } from "./worker.ts";

/** How often to look although nobody called: bounds what a lost wake-up can cost. */
const SAFETY_LOOK_MS = 500;

export interface LookoutOptions {
  /** False: one look is enough. */
  readonly wait: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

export class Lookout implements Disposable {
  readonly #workspace: Workspace;
  readonly #receiver: Worker;
  readonly #options: LookoutOptions;
  readonly #unlisten: () => void;
  /** Whether it has slept at least once. */
  #slept = false;
  /** Listens from before the look, so that nothing falls between look and sleep. */
  #called = false;
  #wake: () => void = () => {};

  constructor(workspace: Workspace, receiver: Worker, options: LookoutOptions) {
    this.#workspace = workspace;
    this.#receiver = receiver;
    this.#options = options;
    this.#unlisten = options.wait ? this.#listen() : () => {};
  }

  /** Claims the next one; undefined when there is none, or the signal or the hub ended the wait. */
  async next(request: Omit<ClaimRequest, "limit" | "gone">): Promise<Claimed | undefined> {
    const { wait, signal } = this.#options;
    try {
      while (signal?.aborted !== true) {
        this.#called = false;
        const gone = wait ? await goneProcesses(this.#workspace) : [];
        const look = { ...request, gone, limit: 1 };
        const { claimed, nextDueMs } = await claim(this.#workspace, this.#receiver, look);
        if (claimed.length > 0 || !wait) return claimed[0];
        await this.#sleep(Math.min(SAFETY_LOOK_MS, nextDueMs || SAFETY_LOOK_MS));
      }
    } catch (error) {
      // A hub that is closed has no more work; only who asks a closed hub anew is told off.
      if (!(isBatonError(error) && error.code === "store_closed" && this.#slept)) throw error;
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#unlisten();
  }

  #listen(): () => void {
    const whom = { workspace: this.#workspace.name, agent: this.#receiver.agent };
    return this.#workspace.store.onWake(whom, () => {
      this.#called = true;
      this.#wake();
    });
  }

  #sleep(atMostMs: number): Promise<void> {
    const { signal } = this.#options;
    this.#slept = true;
    if (this.#called || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(done, atMostMs);
      signal?.addEventListener("abort", done);
      this.#wake = done;
    });
  }
}
