/**
 * Group commit. What is submitted while groups are on their way becomes the next one, which leaves
 * when one of the two pens is free: while one group is carried out or waits for the disk, the other
 * is prepared and sent. Two that are about the same thing are never on their way together.
 */

import { GroupWriter, type GroupWriterOptions } from "./group-writer.ts";
import { type Operation, type Outcome, Write } from "./operations.ts";

const WRITERS = 2;
/** Bounds how long one transaction can get, and so everybody's latency. */
const MAX_OPERATIONS = 256;
const MAX_RECORDS = 2_000;

export class Committer {
  readonly #pens: readonly GroupWriter[];
  /** What each pen is at, finished or not, and what that touches. */
  readonly #work: Promise<void>[];
  readonly #touched: (readonly string[])[];
  #queue: Write[] = [];
  #flushing: Promise<void> | undefined;

  constructor(options: GroupWriterOptions) {
    this.#pens = Array.from({ length: WRITERS }, () => new GroupWriter(options));
    this.#work = this.#pens.map(() => Promise.resolve());
    this.#touched = this.#pens.map(() => []);
  }

  submit(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new Write(operation, resolve, reject));
      this.#flushing ??= this.#flush();
    });
  }

  async close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    await Promise.all(this.#work);
    await Promise.all(this.#pens.map((pen) => pen.close()));
  }

  /** An immediate callback runs after every caller of this turn has submitted: the group. */
  async #flush(): Promise<void> {
    await new Promise(setImmediate);
    try {
      for (let n = 0; this.#queue.length > 0; n = (n + 1) % WRITERS) {
        await this.#work[n];
        this.#send(n);
        if (this.#queue.length === 0) await new Promise(setImmediate);
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  #send(n: number): void {
    const pen = this.#pens[n] as GroupWriter;
    const group = this.#nextGroup();
    this.#touched[n] = group.flatMap((write) => write.touches);
    this.#work[n] = pen.write(group).finally(() => {
      this.#touched[n] = [];
    });
  }

  /** Of one workspace, no two about the same thing; what does not fit keeps its place in line. */
  #nextGroup(): Write[] {
    const touched = new Set(this.#touched.flat());
    const group: Write[] = [];
    const rest: Write[] = [];
    let weight = 0;
    const alone = this.#queue[0]?.alone ?? false;
    for (const write of this.#queue) {
      const fits =
        (group.length === 0 || !(alone || write.alone)) &&
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
