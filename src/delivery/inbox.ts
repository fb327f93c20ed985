/**
 * The inbox: offers as they arrive. Between them it sleeps until the store says that something
 * concerns this receiver, until a retry or an expiring lease falls due, or (because a wake-up is a
 * hint and may be lost) until the next look that it takes anyway.
 */
import * as z from "zod";
import { Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { isBatonError } from "../errors.ts";
import type { Workspace } from "../store/workspace.ts";
import { claim } from "./claim.ts";
import { Offer } from "./offer.ts";
import type { Worker } from "./work.ts";

/** How often to look although nobody called: bounds what a lost wake-up can cost. */
const SAFETY_LOOK_MS = 500;

const OptionsSchema = z.strictObject({
  /** Ends the inbox. */
  signal: z.instanceof(AbortSignal).optional(),
  /** Only handoffs of this task. */
  task: Name.optional(),
  /** False: end when nothing is ready, instead of waiting for more. */
  wait: z.boolean().default(true),
});

export type InboxOptions = z.input<typeof OptionsSchema>;

export async function* inbox<T>(
  workspace: Workspace,
  receiver: Worker,
  options: InboxOptions,
): AsyncGenerator<Offer<T>, void, undefined> {
  const { task, wait, signal } = parseOr(OptionsSchema, options, {
    code: "invalid_input",
    what: "The inbox's options",
  });
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
  } catch (error) {
    // A hub that is closed has no more offers; only who asks a closed hub anew is told off.
    if (!(isBatonError(error) && error.code === "store_closed" && ear.waited)) throw error;
  } finally {
    ear.close();
  }
}

/** Listens from before the look at the store, so that nothing falls between look and sleep. */
class Ear {
  readonly #unlisten: () => void;
  /** Whether it has slept at least once. */
  waited = false;
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
    this.waited = true;
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
