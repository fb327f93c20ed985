/**
 * Carries out what is due while a hub is open: accept timeouts, deadlines, retries, reminders, joins and
 * decisions about failures, whether or not an agent polls. One timer is set for the next due time of the
 * workspaces it covers; the store wakes it when a commit sets an earlier one (store/wake/due-announcer.ts). An idle
 * hub reads the next due time every few seconds, in case a wake-up was lost, and does nothing else.
 *
 * All hubs of a store do this; in each workspace one at a time carries out what is due (turn.ts). The timer
 * does not keep a program alive.
 */
import { isBatonError } from "../../base/errors.ts";
import type { NextDue, Store } from "../../store/store.ts";
import { ANNOUNCE_MS, DUE_TIMES } from "../../store/wake/due-announcer.ts";
import { reportUnfinished, runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { processDue } from "./process-due.ts";
import { Turn } from "./turn.ts";

/** Delay before the first read: a program that only makes a few calls never starts. */
const START_MS = 250;
/** Interval of reads without a wake-up. */
const SAFETY_POLL_MS = 5_000;
/** A wake-up covers what is written until this long after it (due-announcer.ts). */
const SECOND_READ_MS = ANNOUNCE_MS + 50;
/** Pauses before the next round of a workspace in which something is still due after a round. */
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;
/** Workspaces in which this hub carries out what is due at the same time. */
const MAX_ROUNDS = 8;
/** How long `close` waits for rounds in progress. */
const CLOSE_MS = 2_000;

/** The timers of one open store. */
export class DueTimers {
  readonly #store: Store;
  /** The covered workspaces, by name. */
  readonly #covered = new Map<string, Workspace>();
  /** Creates the workspaces that are not covered by name; undefined: those are not carried out. */
  #create: ((name: string) => Workspace) | undefined;
  readonly #rounds = new Map<string, Promise<void>>();
  /** Workspaces in which something was still due after a round, and when the next one begins. */
  readonly #pauses = new Map<string, { readonly ms: number; readonly until: number }>();
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #reading = false;
  /** A wake-up arrived during a read. */
  #again = false;
  #closed = false;
  #stopListening: (() => void) | undefined;
  #secondRead: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.#readIn(START_MS);
  }

  /** Adds a workspace. */
  cover(workspace: Workspace): void {
    this.#covered.set(workspace.name, workspace);
    if (this.#stopListening !== undefined) this.#readIn(0);
  }

  /** Removes a workspace. */
  uncover({ name, root }: Workspace): void {
    if (this.#covered.get(name)?.root === root) this.#covered.delete(name);
  }

  /** Adds all workspaces of the store, now and later. */
  coverAll(create: (name: string) => Workspace): void {
    this.#create = create;
  }

  /** Stops, after the rounds in progress unless they take long. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#stopListening?.();
    if (this.#rounds.size === 0) return;
    let late: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      late = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([Promise.all(this.#rounds.values()), limit]);
    clearTimeout(late);
  }

  /** Sets the timer, unless it is set to an earlier time. */
  #readIn(ms: number): void {
    const at = performance.now() + ms;
    if (this.#closed || at >= this.#wakeAt) return;
    clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(() => void this.#read(), ms).unref();
  }

  /** Reads the next due times and starts rounds for what is due now. Reads do not overlap. */
  async #read(): Promise<void> {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#again = this.#reading;
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    try {
      this.#listen();
      const names = this.#create === undefined ? [...this.#covered.keys()] : undefined;
      this.#readIn(this.#begin(await this.#store.nextDue(names)));
      await this.#tend();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#reading = false;
      if (this.#again) this.#readIn(0);
    }
  }

  /** Starts listening, once, before the first read: so no due time is missed. */
  #listen(): void {
    if (this.#stopListening !== undefined) return;
    this.#stopListening = this.#store.onWake(DUE_TIMES, () => {
      this.#readIn(0);
      this.#readAgain();
    });
    this.#readAgain();
  }

  /** Reads once more when the last announcement covers nothing new any more. */
  #readAgain(): void {
    clearTimeout(this.#secondRead);
    this.#secondRead = setTimeout(() => this.#readIn(0), SECOND_READ_MS).unref();
  }

  /** Completes what crashed processes left half done; the handler checks rarely (coordination/tasks). */
  async #tend(): Promise<void> {
    for (const workspace of this.#covered.values()) {
      if (this.#closed) return;
      await runFollowUp("maintain the queue", () => workspace.duties.tend(onMainBranch(workspace)));
    }
  }

  /** Starts a round in each workspace where something is due. Returns when to read again. */
  #begin(next: readonly NextDue[]): number {
    const now = performance.now();
    let readMs = SAFETY_POLL_MS;
    for (const name of this.#pauses.keys()) {
      if (!next.some(({ workspace, dueMs }) => workspace === name && dueMs === 0)) {
        this.#pauses.delete(name);
      }
    }
    for (const { workspace: name, dueMs } of next) {
      const pauseMs = (this.#pauses.get(name)?.until ?? 0) - now;
      if (dueMs > 0) readMs = Math.min(readMs, Math.ceil(dueMs));
      else if (this.#rounds.has(name))
        continue; // Its end starts the next read.
      else if (pauseMs > 0) readMs = Math.min(readMs, pauseMs);
      else if (this.#rounds.size < MAX_ROUNDS) this.#startRound(name);
    }
    return readMs;
  }

  #startRound(name: string): void {
    const ms = Math.min(MAX_PAUSE_MS, 2 * (this.#pauses.get(name)?.ms ?? FIRST_PAUSE_MS / 2));
    const round = this.#carryOut(name)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#rounds.delete(name);
        this.#pauses.set(name, { ms, until: performance.now() + ms });
        this.#readIn(0);
      });
    this.#rounds.set(name, round);
  }

  async #carryOut(name: string): Promise<void> {
    const workspace = this.#covered.get(name) ?? this.#create?.(name);
    if (workspace === undefined) return;
    this.#covered.set(name, workspace);
    const turn = await Turn.take(workspace);
    if (turn === undefined) return;
    try {
      await processDue(workspace, { proceed: () => turn.isCurrent && !this.#closed });
    } finally {
      await turn.release();
    }
  }

  /** Publishes an error instead of ending the program; the next read retries. */
  #failed(error: unknown): void {
    if (isBatonError(error) && error.code === "store_closed") this.#closed = true;
    else reportUnfinished("carry out what is due", error);
    this.#readIn(SAFETY_POLL_MS);
  }
}
