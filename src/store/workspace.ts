/** A workspace: its store, and what every operation in it needs. Made by the hub, passed to rooms. */
import type { Clock } from "../clock.ts";
import type { PayloadTypes } from "../envelope/payload.ts";
import type { PolicyInput } from "../envelope/schema.ts";
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

/** What is known of a handoff that names no receiver. */
export interface Leaving {
  readonly from: string;
  readonly task: string | undefined;
  readonly action: string;
  /** The payload's type. */
  readonly payload: string | undefined;
  /** How the work before it ended, when it ended with a word for it. */
  readonly result: string | undefined;
}

/** Computes the next receiver; undefined leaves it to the table of routes. */
export type RouteFunction = (leaving: Leaving) => string | undefined | Promise<string | undefined>;

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
  /** How handoffs are tried that say nothing about it. */
  readonly policy: PolicyInput | undefined;
  readonly route: RouteFunction | undefined;
}
