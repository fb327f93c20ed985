/**
 * Finds the times at which open deliveries change without a call: retries, ends of leases, deadlines. Uses
 * only the public hub: its events list the deliveries, and each delivery states what it waits for.
 */
import { isForever } from "../delivery/settings/policy.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { Hub } from "../hub/hub.ts";
import { isHeld, isOpen } from "../store/rows.ts";

export class DueTimes {
  readonly #hub: Hub;
  /** The number of the last event that was read. */
  #last = 0;
  readonly #open = new Set<string>();

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Returns all times after `now`, unsorted. */
  async after(now: number): Promise<number[]> {
    await this.#readEvents();
    const moments: number[] = [];
    for (const id of this.#open) {
      const shown = await this.#hub.deliveries.get(id);
      if (isOpen(shown.delivery.state)) moments.push(...dueTimesOf(shown));
      else this.#open.delete(id); // A retry creates a new event.
    }
    return moments.filter((at) => at > now);
  }

  async #readEvents(): Promise<void> {
    for (;;) {
      const { items, next } = await this.#hub.events.list({ after: this.#last });
      for (const { number, delivery } of items) {
        this.#last = number;
        if (delivery !== undefined) this.#open.add(delivery);
      }
      if (next === undefined) return;
    }
  }
}

function dueTimesOf({ delivery, envelope: { policy } }: DeliveryDetails): number[] {
  const { state, readyAt, leaseUntil, deadline, lapseAt, inTurn } = delivery;
  const isReminder = policy?.acceptMs === undefined && policy?.remindMs !== undefined;
  const moments = [
    ...(state === "scheduled" ? [readyAt] : []),
    ...(isHeld(state) ? [leaseUntil] : []),
    deadline,
    // A reminder changes nothing; and while earlier work of the task is open, the timeout has not started.
    ...(isReminder || !inTurn ? [] : [lapseAt]),
  ];
  return moments.filter((at): at is number => at !== undefined && !isForever(at));
}
