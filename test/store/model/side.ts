/**
 * One of the two hubs that are compared: a store, a hub on it, and everything it has handed out so
 * far. Before each step the ids and the jitter are seeded anew, so that both sides make the same
 * ones whatever happened before.
 */
import { BatonError } from "../../../src/base/errors.ts";
import type { IdGenerator } from "../../../src/base/ids.ts";
import { resolveLimits } from "../../../src/base/limits.ts";
import { type Agent, type Hub, LocalHub, type Offer, type Work } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { seededIds, seededRandom, VirtualClock } from "../../../src/testing/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";

export const WORKSPACE = "default";
export const BRANCH = "main";
export const HERE = { workspace: WORKSPACE, branch: BRANCH };
/** Long enough that no heartbeat, which goes by real time, beats while a test runs. */
export const LIMITS = resolveLimits({ leaseMs: 1_000_000, attempts: 2 });
export const NAMES = ["ada", "ben", "cyd"] as const;
export const ROLES = ["role:any", "role:planner", "role:coder"] as const;
/** Every kind of entry a run may leave. */
export const ENTRY_KINDS = [
  ...["note", "key", "breaker", "channel", "subscription", "once", "route", "ledger"],
] as const;
/** Processes that claim: the hub's own, and one past it. */
export const PROCESSES = ["p0", "p1"] as const;

/** One of them lives in many short processes, the others in one. */
export const sessionOf = (name: string) => ({
  instance: `${name}-1`,
  lease: name === "cyd" ? ("session" as const) : ("process" as const),
});

/** How a side's store is opened, and what may be expected of it. */
export interface Opening {
  open(clock: VirtualClock): Promise<Store>;
  /** Whether it keeps what it holds when it is closed. */
  readonly durable: boolean;
  /**
   * Whether writes of one turn happen in the order they were submitted in. PostgreSQL carries out
   * a group kind by kind (all settlements, then all handoffs, then all claims), because that costs
   * a third: an order nobody was promised. There they are submitted one after the other.
   */
  readonly inOrder: boolean;
}

export const reference: Opening = {
  open: async (clock) => openReferenceStore({ clock }),
  durable: false,
  inOrder: true,
};

export const sqlite = (file: string): Opening => ({
  open: (clock) => openSqliteStore({ file, clock, limits: LIMITS }),
  durable: true,
  inOrder: true,
});

export const postgres = (address: string): Opening => ({
  open: (clock) => openPostgresStore({ address, clock, limits: LIMITS }),
  durable: true,
  inOrder: false,
});

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
  readonly #opening: Opening;
  #open: Store;
  #ids: IdGenerator;
  #random: () => number;

  private constructor(open: Store, clock: VirtualClock, opening: Opening) {
    this.clock = clock;
    this.#open = open;
    this.#opening = opening;
    this.#ids = seededIds(0, clock);
    this.#random = seededRandom(0);
    this.store = new Proxy(open, {
      get: (_, name) => {
        const value: unknown = Reflect.get(this.#open, name, this.#open);
        return typeof value === "function" ? value.bind(this.#open) : value;
      },
    });
    this.hub = new LocalHub(this.store, {
      clock,
      limits: LIMITS,
      ids: { mint: (kind) => this.#ids.mint(kind), salt: () => this.#ids.salt() },
      random: () => this.#random(),
      processes: { self: PROCESSES[0], isGone: () => false },
    });
  }

  static async open(opening: Opening): Promise<Side> {
    const clock = new VirtualClock();
    return new Side(await opening.open(clock), clock, opening);
  }

  get ids(): IdGenerator {
    return this.#ids;
  }

  /** Closes and opens again, where that means something. */
  async reopen(): Promise<void> {
    if (!this.#opening.durable) return;
    await this.#open.close();
    this.#open = await this.#opening.open(this.clock);
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  /**
   * Submits all of them before the first is answered, where their order is kept then. What they leave
   * is noted in the order of their answers, which nobody was promised: here it is put in that of ids.
   */
  async inOneTurn<T>(submit: readonly (() => Promise<T>)[]): Promise<T[]> {
    const noted = [this.memories, this.envelopes, this.deliveries];
    const before = noted.map((ids) => ids.length);
    const answers = await this.#answers(submit);
    for (const [n, ids] of noted.entries()) ids.push(...ids.splice(before[n] as number).sort());
    return answers;
  }

  async #answers<T>(submit: readonly (() => Promise<T>)[]): Promise<T[]> {
    if (this.#opening.inOrder) return Promise.all(submit.map((each) => each()));
    const answers: T[] = [];
    for (const each of submit) answers.push(await each());
    return answers;
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
