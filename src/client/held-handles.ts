/**
 * Tracks the handles that one session of this process holds. A call that lost its response in a crash of the
 * hub may have claimed something that this process does not know about, and the session's other calls would
 * keep its lease alive. So after a call had to be repeated, the deliveries that the hub assigns to this
 * session are compared with the known handles, and the others are released. Only for sessions named by this
 * process: another process may use a session with a name given by the caller.
 */
import type { Page } from "../base/page.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Wire } from "./connection/wire.ts";

/** The handles of one session. */
export class HeldHandles {
  readonly #session: string;
  readonly #held = new Set<string>();
  #runningClaims = 0;
  #isDoubtful = false;
  /** The comparison in progress. */
  #comparison: Promise<void> | undefined;

  constructor(session: string) {
    this.#session = session;
  }

  /** Adds a handle. */
  hold(handle: string): void {
    this.#held.add(handle);
  }

  /** Removes a handle. */
  forget(handle: string): void {
    this.#held.delete(handle);
  }

  /** Notes that a response was lost: the session may hold more than is known. */
  markDoubtful(): void {
    this.#isDoubtful = true;
  }

  /** Runs a claim. After a lost response, the last of several concurrent claims starts the comparison. */
  async runClaim<Form extends { readonly handle: string }>(
    wire: Wire,
    claim: () => Promise<Form | undefined>,
  ): Promise<Form | undefined> {
    if (this.#comparison !== undefined) await this.#comparison; // It may release what this claim is waiting for.
    this.#runningClaims++;
    try {
      const claimed = await claim();
      if (claimed !== undefined) this.hold(claimed.handle);
      return claimed;
    } finally {
      this.#runningClaims--;
      if (this.#isDoubtful && this.#runningClaims === 0) {
        this.#comparison = wire.connection.track(this.#releaseUnknown(wire, 0));
      }
    }
  }

  /** Called between two polls of a waiting claim, when that claim has no request in progress. */
  async whileWaiting(wire: Wire): Promise<void> {
    if (this.#isDoubtful && this.#runningClaims === 1) await this.#releaseUnknown(wire, 1);
  }

  /** Releases unknown deliveries. `known`: how many running claims have no request in progress. */
  async #releaseUnknown(wire: Wire, known: number): Promise<void> {
    this.#isDoubtful = false;
    try {
      const { items } = await wire.call<Page<DeliveryWithEnvelope>>("deliveries.waiting", {});
      for (const { delivery } of items) {
        const { id, fence, instance, state } = delivery;
        const handle = `${id}#${fence}`;
        if (instance !== this.#session || this.#held.has(handle)) continue;
        if (this.#runningClaims > known) return this.markDoubtful(); // It may belong to a response that is still arriving.
        if (state === "accepted") await wire.call("work.release", { handle });
        if (state === "claimed") await wire.call("offer.release", { handle });
      }
    } catch {
      this.markDoubtful(); // Compared again after the next claim.
    } finally {
      this.#comparison = undefined;
    }
  }
}
