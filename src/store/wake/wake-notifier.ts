/**
 * Wake-ups within one open store: after a commit that concerns an agent, calls the listeners that wait for
 * work of that agent.
 */
import type { WakeTarget } from "../store.ts";

type Listeners = Map<string, Set<() => void>>;

/** The listeners of one open store. */
export class WakeNotifier {
  /** By workspace, then agent. */
  readonly #listeners = new Map<string, Listeners>();

  /** Calls the listener after every commit that concerns the agent. Returns a function that stops it. */
  listen({ workspace, agent }: WakeTarget, listener: () => void): () => void {
    const agents = this.#listeners.get(workspace) ?? new Map<string, Set<() => void>>();
    this.#listeners.set(workspace, agents);
    const listeners = agents.get(agent) ?? new Set();
    agents.set(agent, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      // Stopping twice must not remove listeners that were added since.
      if (listeners.size === 0 && agents.get(agent) === listeners) agents.delete(agent);
    };
  }

  /**
   * Calls the listeners of these agents in microtasks, so that an error of one is not thrown in the store.
   */
  ring(wakes: Iterable<WakeTarget>): void {
    for (const { workspace, agent } of wakes) {
      for (const listener of this.#listeners.get(workspace)?.get(agent) ?? []) {
        queueMicrotask(listener);
      }
    }
  }

  /** Calls every listener when the store closes, so that waiting callers notice it. */
  ringAll(): void {
    for (const agents of this.#listeners.values()) {
      for (const listeners of agents.values())
        for (const listener of listeners) queueMicrotask(listener);
    }
  }
}
