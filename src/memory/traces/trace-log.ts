/**
 * Steps on their way to the store: a bounded buffer, written in batches by count or after a few
 * milliseconds, one batch at a time, so that tracing takes its turn among the writes and never crowds
 * them out. Every step is answered: stored, or rejected and counted. The steps of one call are stored
 * together or not at all.
 */
import { BatonError } from "../../base/errors.ts";
import { traceBranch } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Author, type Memory, placedMemory, type WrittenRecord } from "../record.ts";
import { refusalError } from "../refusals.ts";
import { findEarlierWrite } from "../remember.ts";

/** How long a step waits for company. */
const FLUSH_DELAY_MS = 4;
/** Steps of one batch: others who write wait for about a millisecond. */
const BATCH = 64;

export interface WrittenStep {
  readonly written: WrittenRecord;
  /**
   * Throws when it refers to what its author may not see, or may not build on. Asked when its turn has
   * come and not before: so steps keep their order.
   */
  readonly refuse?: () => Promise<void>;
}

interface QueuedStep extends WrittenStep {
  readonly author: Author;
  /** The call it came with. */
  readonly call: object;
  resolve(memory: Memory): void;
  reject(error: unknown): void;
}

/** What came of all that was traced. */
export interface TraceCounts {
  readonly stored: number;
  readonly failed: number;
  readonly waiting: number;
}

export class TraceLog {
  readonly #workspace: Workspace;
  readonly #waiting: QueuedStep[] = [];
  /** By session: why its first step since the last flush was not stored. */
  readonly #failures = new Map<string, unknown>();
  readonly #expected = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #underWay = 0;
  #stored = 0;
  #failed = 0;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  get counts(): TraceCounts {
    const waiting = this.#waiting.length + this.#underWay;
    return { stored: this.#stored, failed: this.#failed, waiting };
  }

  /** All of them go into the buffer, or none. */
  add(author: Author, steps: readonly WrittenStep[]): Promise<Memory[]> {
    this.#refuseFull(steps.length);
    const call = {};
    const stored = steps.map(
      (step) =>
        new Promise<Memory>((resolve, reject) => {
          this.#waiting.push({ ...step, author, call, resolve, reject });
        }),
    );
    if (this.#waiting.length >= BATCH) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), FLUSH_DELAY_MS);
    const all = Promise.all(stored);
    all.catch(() => {}); // Who does not wait is told by flush, not by the end of its process.
    return all;
  }

  /** Steps that are about to be added, or refused. */
  expect(arrival: Promise<void>): void {
    this.#expected.add(arrival);
    void arrival.then(() => this.#expected.delete(arrival));
  }

  /** Steps that did not get as far as the buffer. */
  refused(author: Author, steps: number, error: unknown): void {
    this.#failed += steps;
    if (!this.#failures.has(author.instance)) this.#failures.set(author.instance, error);
  }

  async flush({ instance }: Author): Promise<void> {
    await this.drain();
    if (!this.#failures.has(instance)) return;
    const error = this.#failures.get(instance);
    this.#failures.delete(instance);
    throw error;
  }

  async drain(): Promise<void> {
    while (this.#expected.size > 0 || this.#waiting.length > 0 || this.#writing !== undefined) {
      await Promise.all(this.#expected);
      this.#write();
      await this.#writing;
    }
  }

  #refuseFull(more: number): void {
    const max = this.#workspace.limits.traceBuffer;
    const actual = this.counts.waiting + more;
    if (actual <= max) return;
    throw new BatonError("limit_exceeded", {
      message: `${actual} steps would wait to be stored, the limit traceBuffer is ${max}.`,
      path: "trace",
      hint: "Wait for trace() now and then (await), or open the hub with limits: { traceBuffer: … }.",
      details: { limit: "traceBuffer", max, actual },
    });
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#batchLength());
      this.#underWay = batch.length;
      const sessions = Map.groupBy(batch, ({ author }) => author.instance);
      await Promise.all([...sessions.values()].map((steps) => this.#appendGood(steps)));
      this.#underWay = 0;
    }
  }

  /** As many as a batch has, and the rest of the call that its last step came with. */
  #batchLength(): number {
    let length = Math.min(BATCH, this.#waiting.length);
    const last = this.#waiting[length - 1]?.call;
    while (length < this.#waiting.length && this.#waiting[length]?.call === last) length++;
    return length;
  }

  async #appendGood(steps: readonly QueuedStep[]): Promise<void> {
    const checks = await Promise.allSettled(steps.map(({ refuse }) => refuse?.()));
    const refused = new Map<object, unknown>();
    for (const [i, { call }] of steps.entries()) {
      const check = checks[i];
      if (check?.status === "rejected" && !refused.has(call)) refused.set(call, check.reason);
    }
    for (const [call, error] of refused) {
      this.#reject(
        steps.filter((step) => step.call === call),
        error,
      );
    }
    const good = steps.filter(({ call }) => !refused.has(call));
    if (good.length > 0) await this.#append(good);
  }

  #reject(steps: readonly QueuedStep[], error: unknown): void {
    for (const { author, reject } of steps) {
      this.refused(author, 1, error);
      reject(error);
    }
  }

  /** Of a call with ids that were used before: those of the same steps are answered, the others stored. */
  async #appendNew(steps: readonly QueuedStep[], refusal: BatonError): Promise<void> {
    const before = await Promise.all(
      steps.map(async ({ written }) => (await findEarlierWrite(this.#workspace, [written]))?.[0]),
    );
    const fresh = steps.filter((_, i) => before[i] === undefined);
    if (fresh.length === steps.length) throw refusal;
    if (fresh.length > 0) await this.#append(fresh);
    for (const [i, { resolve }] of steps.entries()) {
      const memory = before[i];
      if (memory === undefined) continue;
      this.#stored++;
      resolve(memory);
    }
  }

  /** In their order, all in one; or, when the store refuses one of them, each call by itself. */
  async #append(steps: readonly QueuedStep[]): Promise<void> {
    const { store, name } = this.#workspace;
    const branch = traceBranch(steps[0]?.author.instance ?? "");
    try {
      const memories = steps.map(({ written }) => written.record);
      const outcome = await store.appendMemories({ workspace: name, branch, memories });
      if (outcome.kind === "appended") {
        this.#stored += steps.length;
        for (const [i, { written, resolve }] of steps.entries()) {
          const place = outcome.places[i];
          if (place === undefined) throw new Error("a step was appended, no place came back");
          resolve(placedMemory(written, place, branch));
        }
        return;
      }
      const calls = Map.groupBy(steps, ({ call }) => call);
      if (calls.size > 1) {
        for (const each of calls.values()) await this.#append(each);
        return;
      }
      switch (outcome.kind) {
        case "id_taken":
          await this.#appendNew(steps, await refusalError(this.#workspace, outcome));
          return;
        case "lease_lost":
        case "entry_changed":
        case "tip_moved":
          throw new Error(`a plain record was refused: ${outcome.kind}`);
        default:
          throw await refusalError(this.#workspace, outcome);
      }
    } catch (error) {
      this.#reject(steps, error);
    }
  }
}
