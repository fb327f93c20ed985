/**
 * Work that was accepted over this connection, by its handle. Only a shortcut: the handle that a model
 * passes along is all the state there is, so that another connection, or the next request of a
 * connection without a memory, goes on just the same.
 */

import type { Agent } from "../hub/agent.ts";
import type { Work } from "../hub/work.ts";

export class HeldWork {
  readonly #works = new Map<string, Work>();

  keep(work: Work): void {
    this.#works.set(work.handle, work);
  }

  /** The work as it stands; whoever has seen an addition of the sender goes on from the newest. */
  async at(agent: Agent, handle: string, seen?: string): Promise<Work> {
    const known = seen === undefined ? this.#works.get(handle) : undefined;
    if (known !== undefined) return known;
    const work = await agent.resume(handle);
    this.keep(work);
    return work;
  }

  drop(handle: string): void {
    this.#works.delete(handle);
  }
}
