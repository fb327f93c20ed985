/**
 * Group commit: collects the operations submitted while groups are in progress into the next group, which is
 * sent when one of the two writers is free. While one group is executed or waits for the disk, the other is
 * prepared and sent. Two operations that touch the same are never in progress at the same time.
 */

import { GroupWriter, type GroupWriterOptions } from "./group-writer.ts";
import { type Operation, type Outcome, Write } from "./operations.ts";

const WRITERS = 2;
/** Limits of a group: they bound the length of a transaction, and so the latency of all callers. */
const MAX_OPERATIONS = 256;
const MAX_RECORDS = 2_000;

/** Queues operations and writes them in groups. */
export class Committer {
  readonly #writers: readonly GroupWriter[];
  /** The current or last work of each writer, and the keys it touches. */
  readonly #work: Promise<void>[];
  readonly #touched: (readonly string[])[];
  #queue: Write[] = [];
  #flushing: Promise<void> | undefined;

  constructor(options: GroupWriterOptions) {
    this.#writers = Array.from({ length: WRITERS }, () => new GroupWriter(options));
    this.#work = this.#writers.map(() => Promise.resolve());
    this.#touched = this.#writers.map(() => []);
  }

  /** Submits an operation. Resolves with its outcome once it is on disk. */
  submit(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new Write(operation, resolve, reject));
      this.#flushing ??= this.#flush();
    });
  }

  /** Waits for everything that was submitted, then closes the connections. */
  async close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    await Promise.all(this.#work);
    await Promise.all(this.#writers.map((writer) => writer.close()));
  }

  /** Sends groups until the queue is empty. After an immediate, all callers of this turn have submitted. */
  async #flush(): Promise<void> {
    await new Promise(setImmediate);
    try {
      for (let n = 0; this.#queue.length > 0; n = (n + 1) % WRITERS) {
        // Groups of two writers commit in any order, so a group of moves waits for both.
        await (this.#queue[0]?.operation.kind === "move" ? Promise.all(this.#work) : this.#work[n]);
        this.#send(n);
        if (this.#queue.length === 0) await new Promise(setImmediate);
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  #send(n: number): void {
    const writer = this.#writers[n] as GroupWriter;
    const group = this.#nextGroup();
    this.#touched[n] = group.flatMap((write) => write.touches);
    this.#work[n] = writer.write(group).finally(() => {
      this.#touched[n] = [];
    });
  }

  /** Returns the next group: one workspace, no key twice. The other operations stay queued, in order. */
  #nextGroup(): Write[] {
    const touched = new Set(this.#touched.flat());
    const group: Write[] = [];
    const rest: Write[] = [];
    let weight = 0;
    const kind = this.#queue[0]?.groupKind;
    for (const write of this.#queue) {
      const fits =
        (group.length === 0 || (write.groupKind === kind && kind !== "alone")) &&
        write.workspace === this.#queue[0]?.workspace &&
        group.length < MAX_OPERATIONS &&
        (group.length === 0 || weight + write.weight <= MAX_RECORDS) &&
        write.touches.every((key) => !touched.has(key));
      (fits ? group : rest).push(write);
      if (fits) weight += write.weight;
      for (const key of write.touches) touched.add(key);
    }
    this.#queue = rest;
    return group;
  }
}
