/**
 * Detects that the process of a lease holder has ended, while this process waits for work; `processDue()` then
 * releases its work. The holders are read from the store every now and then. In between, only the system is asked
 * whether they still run, which costs a tenth of a reading and can be done more often: so the work of a killed
 * process is released within a tenth of a second for each eight holders, if it has held it for a second.
 */
import type { Workspace } from "../../workspace/workspace.ts";

/**
 * Minimum interval between two reads of the holders, shared by all waits in this process. Shorter than the
 * safety poll interval (750 ms), so that a single wait reads at every safety poll.
 */
const READ_INTERVAL_MS = 400;
/** Interval at which the system is asked, for each `BATCH` of holders: more are asked less often. */
const WATCH_MS = 100;
const BATCH = 8;

const watches = new WeakMap<object, HolderWatch>();

/** Returns the watch that all waits in a workspace share. */
export function holderWatchOf({ root, processes }: Workspace): HolderWatch {
  const watch = watches.get(root) ?? new HolderWatch(processes);
  watches.set(root, watch);
  return watch;
}

/** Watches the processes that hold work of one workspace. */
export class HolderWatch {
  readonly #processes: Workspace["processes"];
  #readAt: number | undefined;
  /** The reading that is under way. */
  #reading: Promise<readonly string[]> | undefined;
  /** The other processes that held work at the last reading, and were running. */
  #holders: readonly string[] = [];
  /** Each wakes one wait. */
  readonly #waiters = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  /** The interval of the timer; 0 if there is none. */
  #interval = 0;

  constructor(processes: Workspace["processes"]) {
    this.#processes = processes;
  }

  /** Returns ended processes that hold work of the workspace; empty if the last reading was too recent. */
  async findDead(workspace: Workspace): Promise<readonly string[]> {
    const now = performance.now();
    const last = this.#readAt;
    if (last !== undefined && now - last < READ_INTERVAL_MS) {
      // The wait that reads was woken first; the others must not claim before it.
      await this.#reading?.catch(() => {});
      return [];
    }
    this.#readAt = now;
    if (last === undefined) return []; // The first call does not read, so that the claim is not delayed.
    this.#reading = this.#read(workspace).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Calls `wake` whenever a holder has ended, until the waiter is removed. */
  addWaiter(wake: () => void): void {
    this.#waiters.add(wake);
    this.#watch();
  }

  /** The timer goes on, because a waiter that wakes often is added again before the timer fires. */
  removeWaiter(wake: () => void): void {
    this.#waiters.delete(wake);
  }

  async #read({ store, name }: Workspace): Promise<readonly string[]> {
    const { self, isGone, isRunning } = this.#processes;
    const holders = await store.listProcesses(name);
    this.#holders = holders.filter((each) => each !== self && isRunning?.(each));
    this.#watch();
    return holders.filter((each) => isGone(each));
  }

  /** Sets or clears the timer: it runs while there are holders to watch and waits to wake. */
  #watch(): void {
    const batches = this.#waiters.size === 0 ? 0 : Math.ceil(this.#holders.length / BATCH);
    const ms = WATCH_MS * batches;
    if (ms === this.#interval) return; // Restarting the timer would delay the next check.
    this.#interval = ms;
    clearInterval(this.#timer);
    this.#timer = ms === 0 ? undefined : setInterval(() => this.#check(), ms).unref();
  }

  #check(): void {
    const [first] = this.#waiters;
    if (first === undefined)
      this.#watch(); // Clears the timer.
    else if (this.#holders.some((each) => this.#processes.isGone(each))) this.#wake(first);
  }

  #wake(waiter: () => void): void {
    this.#holders = [];
    this.#readAt = Number.NEGATIVE_INFINITY; // The wait that is woken reads them again.
    this.#watch();
    waiter();
  }
}
