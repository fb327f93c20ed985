/**
 * Caches the work accepted over this connection, by handle. Only a shortcut: the handle that the model passes
 * is the complete state, so another connection, or the next request of a stateless one, can continue.
 */

import type { Agent } from "../hub/agent.ts";
import type { Work } from "../hub/work.ts";

/** The works accepted over one connection, by handle. */
export class HeldWork {
  readonly #works = new Map<string, Work>();

  /** Adds accepted work. */
  keep(work: Work): void {
    this.#works.set(work.handle, work);
  }

  /** Returns the work. With `seen` it is read again, so that it includes the sender's newest envelope. */
  async at(agent: Agent, handle: string, seen?: string): Promise<Work> {
    const known = seen === undefined ? this.#works.get(handle) : undefined;
    if (known !== undefined) return known;
    const work = await agent.resume(handle);
    this.keep(work);
    return work;
  }

  /** Removes work that was settled or lost. */
  drop(handle: string): void {
    this.#works.delete(handle);
  }
}
