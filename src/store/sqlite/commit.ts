/**
 * Group commit: the writes of one turn of the event loop share a transaction and one disk sync, and are
 * acknowledged together after it. One caller commits about 4,000 times a second here; 64 callers together
 * reach more than ten times that.
 *
 * If one write of a group throws, the group is rolled back and run again with one savepoint per write, so
 * that the others are not affected. If the commit itself fails because the disk does, the group is written
 * once more, in the place of the first attempt in the log; if that fails too, all of it is rejected as
 * uncertain. While another process holds the file, the wait does not block the event loop; it is short and has
 * jitter. A maximum of 2 ms keeps four writers fair, a longer one starves some of them, and SQLite's own busy
 * timeout stops the whole process.
 */
import { channel } from "node:diagnostics_channel";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { BatonError } from "../../base/errors.ts";
import { commitFailure, isBusy, isIoError, storeFailure } from "./failures.ts";
import { Refusal } from "./refusal.ts";
import type { Transaction } from "./transaction.ts";

/** Limits the length of a transaction, and so the latency of every caller. */
const MAX_WRITES_PER_COMMIT = 512;
/** Longest pause between two attempts to get the lock. */
const MAX_PAUSE_MS = 2;

/** Publishes how long each transaction waited for the file: `{ waitedMs }`. */
const lockWaits = channel("batonpass:sqlite:lock");

interface Write {
  run(transaction: Transaction): unknown;
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

type Acknowledgement = () => void;

/** What a committer needs. */
export interface CommitterOptions {
  readonly db: DatabaseSync;
  readonly file: string;
  /** How long to wait for the lock, in milliseconds. */
  readonly busyMs: number;
  /** Returns a new transaction without cached heads or agents. */
  begin(): Transaction;
  /** Called after each acknowledged commit. */
  committed(transaction: Transaction): void;
}

/** Collects writes and commits them in groups. */
export class Committer {
  readonly #options: CommitterOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  #queue: Write[] = [];
  #flushing: Promise<void> | undefined;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#begin = options.db.prepare("begin immediate");
    this.#commit = options.db.prepare("commit");
    this.#rollback = options.db.prepare("rollback");
  }

  /** Runs a write in the next group. Resolves after the commit; rejects with a `BatonError` if it failed. */
  submit<Outcome>(run: (transaction: Transaction) => Outcome): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => {
      this.#queue.push({ run, resolve: resolve as (outcome: unknown) => void, reject });
      this.#flushing ??= this.#flushAll();
    });
  }

  /** Resolves when everything submitted so far has been written. */
  async idle(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
  }

  /**
   * An immediate callback runs after every caller of this turn has submitted; these writes form the group.
   */
  async #flushAll(): Promise<void> {
    await new Promise(setImmediate);
    try {
      while (this.#queue.length > 0) {
        const group = this.#queue.splice(0, MAX_WRITES_PER_COMMIT);
        const settle = await this.#writeGroup(group);
        for (const settled of settle) settled();
        if (this.#queue.length === 0) await new Promise(setImmediate);
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  async #writeGroup(group: readonly Write[]): Promise<readonly Acknowledgement[]> {
    try {
      return await this.#attemptGroup(group);
    } catch (error) {
      if (!isIoError(error)) return this.#failed(group, error);
    }
    try {
      this.#undo();
      return await this.#attemptGroup(group);
    } catch (error) {
      return this.#failed(group, error);
    }
  }

  async #attemptGroup(group: readonly Write[]): Promise<readonly Acknowledgement[]> {
    await this.#lock();
    return this.#together(group) ?? (await this.#apart(group));
  }

  /** Runs the group without savepoints. Returns undefined if a write threw; then nothing was written. */
  #together(group: readonly Write[]): readonly Acknowledgement[] | undefined {
    const transaction = this.#options.begin();
    const settle: Acknowledgement[] = [];
    try {
      for (const write of group) {
        const outcome = write.run(transaction);
        settle.push(() => write.resolve(outcome));
      }
      transaction.flush();
    } catch {
      this.#undo(); // The error occurs again, and is reported, in #apart.
      return undefined;
    }
    return this.#finish(transaction, settle);
  }

  /** Runs the group again after a write threw, with a savepoint for each write. */
  async #apart(group: readonly Write[]): Promise<readonly Acknowledgement[]> {
    const { db } = this.#options;
    await this.#lock();
    const transaction = this.#options.begin();
    const settle: Acknowledgement[] = [];
    for (const write of group) {
      db.exec("savepoint one");
      try {
        const outcome = write.run(transaction);
        transaction.flush();
        settle.push(() => write.resolve(outcome));
      } catch (error) {
        if (!db.isTransaction) throw error; // SQLite rolled back the whole transaction.
        db.exec("rollback to one");
        transaction.forget();
        settle.push(this.#settledBy(write, error));
      }
      db.exec("release one");
    }
    return this.#finish(transaction, settle);
  }

  #settledBy(write: Write, error: unknown): Acknowledgement {
    if (error instanceof Refusal) return () => write.resolve(error.outcome);
    return () => write.reject(storeFailure(error, this.#options.file));
  }

  #finish(
    transaction: Transaction,
    settle: readonly Acknowledgement[],
  ): readonly Acknowledgement[] {
    this.#commit.run();
    return [...settle, () => this.#options.committed(transaction)];
  }

  #failed(group: readonly Write[], error: unknown): readonly Acknowledgement[] {
    try {
      this.#undo();
    } catch {
      // Report the first error; a transaction that cannot be rolled back makes the next begin fail.
    }
    const failure = commitFailure(error, this.#options.file);
    return group.map((write) => () => write.reject(failure));
  }

  #undo(): void {
    if (this.#options.db.isTransaction) this.#rollback.run();
  }

  async #lock(): Promise<void> {
    const since = lockWaits.hasSubscribers ? performance.now() : 0;
    await retryWhileBusy(() => this.#begin.run(), this.#options);
    if (lockWaits.hasSubscribers) lockWaits.publish({ waitedMs: performance.now() - since });
  }
}

/**
 * Retries while another process locks the file, without blocking the event loop. Throws `store_busy` after
 * `busyMs`.
 */
export async function retryWhileBusy<T>(
  attempt: () => T,
  options: { readonly busyMs: number; readonly file: string },
): Promise<T> {
  const giveUpAt = performance.now() + options.busyMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw storeFailure(error, options.file);
      if (performance.now() > giveUpAt) throw tooBusy(options, error);
    }
    await sleep(Math.random() * MAX_PAUSE_MS);
  }
}

function tooBusy(
  options: { readonly busyMs: number; readonly file: string },
  cause: unknown,
): BatonError {
  return new BatonError("store_busy", {
    message: `${options.file}: other processes kept the file locked for ${options.busyMs} ms.`,
    path: options.file,
    hint: "Retry; if it happens again, look for a process that was stopped while it was writing.",
    cause,
  });
}
