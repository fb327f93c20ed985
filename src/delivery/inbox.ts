/**
 * The inbox: offers as they arrive. Between them it sleeps until the store says that something
 * concerns this receiver, until a retry or an expiring lease falls due, or (because a wake-up is a
 * hint and may be lost) until the next look that it takes anyway.
 */
import type { Workspace } from "../store/workspace.ts";
import { claim } from "./claim.ts";
import { Offer } from "./offer.ts";
import type { Worker } from "./work.ts";

/** How often to look although nobody called: bounds what a lost wake-up can cost. */
const SAFETY_LOOK_MS = 500;

export interface InboxOptions {
  /** Only handoffs of this task. */
  readonly task?: string;
  /** False: end when nothing is ready, instead of waiting for more. */
  readonly wait?: boolean;
  /** Ends the inbox. */
  readonly signal?: AbortSignal;
}

export async function* inbox<T>(
  workspace: Workspace,
  receiver: Worker,
  options: InboxOptions,
): AsyncGenerator<Offer<T>, void, undefined> {
  const { task, wait = true, signal } = options;
  const ear = new Ear(workspace, receiver.agent);
  try {
    while (signal?.aborted !== true) {
      ear.rest();
      const { claimed, nextDueAt } = await claim(workspace, receiver, { limit: 1, task });
      for (const each of claimed) yield new Offer<T>(workspace, receiver, each);
      if (claimed.length > 0) continue;
      if (!wait) return;
      const dueIn = nextDueAt === 0 ? SAFETY_LOOK_MS : nextDueAt - workspace.clock.now();
      await ear.heard(Math.max(1, Math.min(SAFETY_LOOK_MS, dueIn)), signal);
    }
  } finally {
    ear.close();
  }
}

/** Listens from before the look at the store, so that nothing falls between look and sleep. */
class Ear {
  readonly #unlisten: () => void;
  #called = false;
  #wake: () => void = () => {};

  constructor(workspace: Workspace, agent: string) {
    this.#unlisten = workspace.store.onWake({ workspace: workspace.name, agent }, () => {
      this.#called = true;
      this.#wake();
    });
  }

  rest(): void {
    this.#called = false;
  }

  heard(withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#called || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      signal?.addEventListener("abort", done);
      this.#wake = done;
    });
  }

  close(): void {
    this.#unlisten();
  }
}
