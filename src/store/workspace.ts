/** A workspace: its store, and what every operation in it needs. Made by the hub, passed to rooms. */
import type { Clock } from "../clock.ts";
import type { PayloadTypes } from "../envelope/payload.ts";
import type { Ids } from "../ids.ts";
import type { Limits } from "../limits.ts";
import type { Store } from "./store.ts";

/** Which process this is, and which others have ended. Injected, like the clock. */
export interface Processes {
  /** Bound to leases; empty: leases go by time only. */
  readonly self: string;
  /** True only when it is certain. Never throws. */
  isGone(process: string): boolean;
}

export interface Workspace {
  readonly name: string;
  /** The branch that is read and written. */
  readonly branch: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  /** From 0 (included) to 1 (excluded): jitter. Injected, so that a seed replays a run. */
  readonly random: () => number;
  readonly processes: Processes;
  readonly limits: Limits;
  readonly payloads: PayloadTypes;
}
