/** A whole hub for one test: in memory, with a clock the test moves and ids that repeat. */

import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { type Hub, LocalHub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/options.ts";
import { seededIds, seededRandom } from "./seeded-ids.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** All that a hub can be told, but for what the kit itself sees to. */
export interface MemoryHubOptions
  extends Omit<HubOptions, "clock" | "create" | "ids" | "processes" | "random"> {
  /** The same seed gives the same ids and the same jitter. */
  readonly seed?: number;
  /** What the clock shows at first, in milliseconds since 1970. */
  readonly start?: number;
}

export interface MemoryHub extends AsyncDisposable {
  readonly hub: Hub;
  readonly clock: VirtualClock;
}

export function memoryHub({ seed = 1, start, ...options }: MemoryHubOptions = {}): MemoryHub {
  const clock = new VirtualClock(start);
  const hub = new LocalHub(openReferenceStore({ clock }), {
    ...options,
    clock,
    ids: seededIds(seed, clock),
    random: seededRandom(seed),
    processes: { self: "", isGone: () => false }, // Leases go by the test's clock only.
  });
  return { hub, clock, [Symbol.asyncDispose]: () => hub.close() };
}
