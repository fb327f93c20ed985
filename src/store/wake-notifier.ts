/** Wake-ups among those who share one open store: after a commit, whoever waits for an agent's work looks again. */
import type { WakeTarget } from "./store.ts";

type Listeners = Map<string, Set<() => void>>;

export class WakeNotifier {
  /** By workspace, then agent. */
  readonly #listeners = new Map<string, Listeners>();

  listen({ workspace, agent }: WakeTarget, listener: () => void): () => void {
    const agents = this.#listeners.get(workspace) ?? new Map<string, Set<() => void>>();
    this.#listeners.set(workspace, agents);
    const listeners = agents.get(agent) ?? new Set();
    agents.set(agent, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      // Stopping twice must not silence somebody who has begun to listen since.
      if (listeners.size === 0 && agents.get(agent) === listeners) agents.delete(agent);
    };
  }

  /** Listeners run on their own: what one of them throws is not the store's to handle. */
  ring(wakes: Iterable<WakeTarget>): void {
    for (const { workspace, agent } of wakes) {
      for (const listener of this.#listeners.get(workspace)?.get(agent) ?? []) {
        queueMicrotask(listener);
      }
    }
  }

  /** The store closes: whoever waits shall look, and see. */
  ringAll(): void {
    for (const agents of this.#listeners.values()) {
      for (const listeners of agents.values())
        for (const listener of listeners) queueMicrotask(listener);
    }
  }
}
