/**
 * What one session of this process has in hand. A call whose answer died together with the hub may have
 * taken something that nobody here knows of, and the session's other calls would keep its lease alive. So
 * where a call had to be sent again, what the hub says this session holds is held against what it has in
 * hand, and the rest is put back. Only of sessions that were named here: others may be at work elsewhere
 * under the same name.
 */
import type { Page } from "../base/page.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Wire } from "./connection/wire.ts";

export class HeldHandles {
  readonly #session: string;
  readonly #held = new Set<string>();
  #taking = 0;
  #isDoubtful = false;
  /** Looking whether there is more in hand than is known. */
  #tidying: Promise<void> | undefined;

  constructor(session: string) {
    this.#session = session;
  }

  hold(handle: string): void {
    this.#held.add(handle);
  }

  letGo(handle: string): void {
    this.#held.delete(handle);
  }

  /** An answer got lost: there may be more in hand than is known. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Takes something; the last of those that do at the same time looks whether that was all. */
  async taking<Form extends { readonly handle: string }>(
    wire: Wire,
    take: () => Promise<Form | undefined>,
  ): Promise<Form | undefined> {
    if (this.#tidying !== undefined) await this.#tidying; // What that puts back may be what is asked for.
    this.#taking++;
    try {
      const taken = await take();
      if (taken !== undefined) this.hold(taken.handle);
      return taken;
    } finally {
      this.#taking--;
      if (this.#isDoubtful && this.#taking === 0) {
        this.#tidying = wire.connection.track(this.#tidy(wire, 0));
      }
    }
  }

  /** Between two questions of one who waits: nothing of its own is under way. */
  async whileWaiting(wire: Wire): Promise<void> {
    if (this.#isDoubtful && this.#taking === 1) await this.#tidy(wire, 1);
  }

  /** `known`: how many of those who take something have nothing under way. */
  async #tidy(wire: Wire, known: number): Promise<void> {
    this.#isDoubtful = false;
    try {
      const { items } = await wire.call<Page<DeliveryWithEnvelope>>("deliveries.waiting", {});
      for (const { delivery } of items) {
        const { id, fence, instance, state } = delivery;
        const handle = `${id}#${fence}`;
        if (instance !== this.#session || this.#held.has(handle)) continue;
        if (this.#taking > known) return this.doubt(); // It may be the answer that is under way.
        if (state === "accepted") await wire.call("work.release", { handle });
        if (state === "claimed") await wire.call("offer.release", { handle });
      }
    } catch {
      this.doubt(); // Looked at again with the next that is taken.
    } finally {
      this.#tidying = undefined;
    }
  }
}
