/**
 * One of the two hubs that are compared: a store, a hub on it, and everything it has returned so
 * far. Ids and jitter are seeded again before each step, so that both sides create the same ones,
 * whatever happened before.
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
/** The lease is long enough that no heartbeat, which uses real time, occurs during a test. */
export const LIMITS = resolveLimits({ leaseMs: 1_000_000, attempts: 2 });
export const NAMES = ["ada", "ben", "cyd"] as const;
export const ROLES = ["role:any", "role:planner", "role:coder"] as const;
/** Every kind of entry that a run may write. */
export const ENTRY_KINDS = [
  ...["note", "key", "breaker", "channel", "subscription", "once", "route", "ledger"],
] as const;
/** Processes that claim: the hub's own, and one that bypasses the hub. */
export const PROCESSES = ["p0", "p1"] as const;

/** Returns the session of an agent: one agent runs in many short processes, the others in one. */
export const sessionOf = (name: string) => ({
  instance: `${name}-1`,
  lease: name === "cyd" ? ("session" as const) : ("process" as const),
});

/** How to open the store of a side, and what to expect of it. */
export interface Opening {
  open(clock: VirtualClock): Promise<Store>;
  /** Whether the store keeps its data when it is closed. */
  readonly durable: boolean;
  /**
   * Whether writes of one turn are executed in the order they were submitted. PostgreSQL executes a
   * group kind by kind (all settlements, then all handoffs, then all claims), because that costs a
   * third; the order is not guaranteed. There the writes are submitted one after the other.
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

/** The result of a step: a value, or an error as every interface reports it. */
export type Outcome = { readonly value: unknown } | { readonly error: object };

/** The fields that make two handoffs the same work. */
export interface Handover {
  readonly from: string;
  readonly to: string;
  readonly task: string;
  readonly parents?: string[];
}

export class Side {
  readonly clock: VirtualClock;
  readonly hub: Hub;
  /** Forwards to the store that is open now: handles stay valid when it is reopened. */
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

  /** Closes and reopens the store if it is durable. */
  async reopen(): Promise<void> {
    if (!this.#opening.durable) return;
    await this.#open.close();
    this.#open = await this.#opening.open(this.clock);
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  /**
   * Submits all writes before the first is answered, if the store keeps their order. The ids they
   * create are collected in the order of the answers, which is not guaranteed, and are sorted here.
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

  /** Runs one step. An error that is not a BatonError is a bug, and fails the test. */
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
