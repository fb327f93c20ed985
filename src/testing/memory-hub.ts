/**
 * `memoryHub()`: a complete hub for one test, in memory, with a clock that the test moves and reproducible
 * ids.
 */

import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { type Hub, LocalHub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/options.ts";
import { seededIds, seededRandom } from "./seeded-ids.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** The options of a hub, except those that the test kit sets. */
export interface MemoryHubOptions
  extends Omit<HubOptions, "clock" | "create" | "ids" | "processes" | "random"> {
  /** The same seed gives the same ids and the same jitter. Default: 1. */
  readonly seed?: number;
  /** The start time of the clock, in milliseconds since 1970. Default: 2026-01-01. */
  readonly start?: number;
}

/** A hub in memory, and its clock. */
export interface MemoryHub extends AsyncDisposable {
  readonly hub: Hub;
  readonly clock: VirtualClock;
}

/** Creates a hub in memory. */
export function memoryHub({ seed = 1, start, ...options }: MemoryHubOptions = {}): MemoryHub {
  const clock = new VirtualClock(start);
  const hub = new LocalHub(openReferenceStore({ clock }), {
    ...options,
    clock,
    ids: seededIds(seed, clock),
    random: seededRandom(seed),
    processes: { self: "", isGone: () => false }, // Leases depend only on the test clock.
  });
  return { hub, clock, [Symbol.asyncDispose]: () => hub.close() };
}
