/**
 * One of the two hubs that are compared: a store, a hub on it, and everything it has handed out so
 * far. Before each step the ids and the jitter are seeded anew, so that both sides make the same
 * ones whatever happened before.
 */
import { BatonError } from "../../../src/errors.ts";
import type { Ids } from "../../../src/ids.ts";
import { type Agent, Hub, type Offer, type Work } from "../../../src/index.ts";
import { resolveLimits } from "../../../src/limits.ts";
import { openReferenceStore } from "../../../src/store/reference/open.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { seededIds, seededRandom, VirtualClock } from "../../../src/testing/index.ts";

export const WORKSPACE = "default";
export const BRANCH = "main";
/** Long enough that no heartbeat, which goes by real time, beats while a test runs. */
export const LIMITS = resolveLimits({ leaseMs: 1_000_000, attempts: 2 });
export const NAMES = ["ada", "ben", "cyd"] as const;

type Open = (clock: VirtualClock) => Promise<Store>;

export const openReference: Open = async (clock) => openReferenceStore({ clock });

export const openSqlite =
  (file: string): Open =>
  (clock) =>
    openSqliteStore({ file, clock, limits: LIMITS });

/** What came of a step: a value, or an error as every door would tell it. */
export type Outcome = { readonly value: unknown } | { readonly error: object };

/** What makes two handoffs the same piece of work. */
export interface Handover {
  readonly from: string;
  readonly to: string;
  readonly task: string;
  readonly parents?: string[];
}

export class Side {
  readonly clock: VirtualClock;
  readonly hub: Hub;
  /** Goes to whichever store is open now: handles outlive a reopening. */
  readonly store: Store;
  readonly agents = new Map<string, Agent>();
  readonly offers: Offer[] = [];
  readonly works: Work[] = [];
  readonly memories: string[] = [];
  readonly envelopes: string[] = [];
  readonly deliveries: string[] = [];
  readonly handovers: Handover[] = [];
  readonly #reopen: (() => Promise<Store>) | undefined;
  #open: Store;
  #ids: Ids;
  #random: () => number;

  private constructor(open: Store, clock: VirtualClock, reopen?: () => Promise<Store>) {
    this.clock = clock;
    this.#open = open;
    this.#reopen = reopen;
    this.#ids = seededIds(0, clock);
    this.#random = seededRandom(0);
    this.store = new Proxy(open, {
      get: (_, name) => {
        const value: unknown = Reflect.get(this.#open, name, this.#open);
        return typeof value === "function" ? value.bind(this.#open) : value;
      },
    });
    this.hub = new Hub(this.store, {
      clock,
      limits: LIMITS,
      ids: { mint: (kind) => this.#ids.mint(kind), salt: () => this.#ids.salt() },
      random: () => this.#random(),
    });
  }

  static async open(open: Open, durable: boolean): Promise<Side> {
    const clock = new VirtualClock();
    return new Side(await open(clock), clock, durable ? () => open(clock) : undefined);
  }

  get ids(): Ids {
    return this.#ids;
  }

  /** Closes and opens again, where that means something. */
  async reopen(): Promise<void> {
    if (this.#reopen === undefined) return;
    await this.#open.close();
    this.#open = await this.#reopen();
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  /** Runs one step. An error that is not ours is a bug, and ends the test. */
  async run(seed: number, step: (side: Side) => Promise<unknown>): Promise<Outcome> {
    this.#ids = seededIds(seed, this.clock);
    this.#random = seededRandom(seed);
    return outcomeOf(step(this));
  }
}

export async function outcomeOf(promise: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await promise };
  } catch (error) {
    if (error instanceof BatonError) return { error: error.toJSON() };
    throw error;
  }
}
