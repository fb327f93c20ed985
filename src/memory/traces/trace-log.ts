/**
 * Buffers trace steps on their way to the store. The buffer is bounded and written in batches, when it has
 * enough steps or after a few milliseconds, one batch at a time, so that tracing shares the store with other
 * writes and does not delay them. Every step is either stored, or rejected and counted; the steps of one
 * call are stored together or not at all.
 */

import { BatonError } from "../../base/errors.ts";
import { traceBranch } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Author, type Memory, placedMemory, type WrittenRecord } from "../record.ts";
import { refusalError } from "../refusals.ts";
import { findEarlierWrite } from "../remember.ts";
import { noteStored } from "../witness.ts";

/** How long a step waits for others before it is written. */
const FLUSH_DELAY_MS = 4;
/** Steps per batch; other writers wait about 1 ms for one. */
const BATCH = 64;

/** A step ready to be stored. */
export interface WrittenStep {
  readonly written: WrittenRecord;
  /**
   * Throws if the step references a memory that its author may not see or that is quarantined. Called when
   * the step is written, not before, so that steps keep their order.
   */
  readonly refuse?: () => Promise<void>;
}

interface QueuedStep extends WrittenStep {
  readonly author: Author;
  /** Identifies the call that the step belongs to. */
  readonly call: object;
  resolve(memory: Memory): void;
  reject(error: unknown): void;
}

/** What became of the traced steps of an open hub. */
export interface TraceCounts {
  readonly stored: number;
  readonly failed: number;
  readonly waiting: number;
}

/** The trace buffer of one workspace. */
export class TraceLog {
  readonly #workspace: Workspace;
  readonly #waiting: QueuedStep[] = [];
  /** By session: the error of the first step since the last flush that was not stored. */
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

  /** Buffers all steps or none; resolves when they are stored. Throws `limit_exceeded` (traceBuffer). */
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
    all.catch(() => {}); // A caller that does not wait gets the error from flush(), not a crash.
    return all;
  }

  /** Makes drain() wait for steps that are about to be added or refused. */
  expect(arrival: Promise<void>): void {
    this.#expected.add(arrival);
    void arrival.then(() => this.#expected.delete(arrival));
  }

  /** Counts steps that were refused before they reached the buffer. */
  refused(author: Author, steps: number, error: unknown): void {
    this.#failed += steps;
    if (!this.#failures.has(author.instance)) this.#failures.set(author.instance, error);
  }

  /** Waits until all steps are stored; throws the first error of this session's steps since the last call. */
  async flush({ instance }: Author): Promise<void> {
    await this.drain();
    if (!this.#failures.has(instance)) return;
    const error = this.#failures.get(instance);
    this.#failures.delete(instance);
    throw error;
  }

  /** Waits until no steps are left to store, whether they were stored or rejected. */
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
      message: `The trace buffer would hold ${actual} steps; the limit traceBuffer is ${max}.`,
      path: "trace",
      hint: "Await trace() from time to time, or open the hub with limits: { traceBuffer: … }.",
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

  /** Returns the length of a batch, extended to the end of the last step's call. */
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

  /** Handles a call with used ids: steps stored earlier are answered from the store, the others stored. */
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

  /** Stores the steps in order in one write; if the store refuses one, each call separately. */
  async #append(steps: readonly QueuedStep[]): Promise<void> {
    const { store, name } = this.#workspace;
    const branch = traceBranch(steps[0]?.author.instance ?? "");
    try {
      const memories = steps.map(({ written }) => written.record);
      const outcome = await store.appendMemories({ workspace: name, branch, memories });
      if (outcome.kind === "appended") {
        this.#stored += steps.length;
        for (const [i, { author, written, resolve }] of steps.entries()) {
          const place = outcome.places[i];
          if (place === undefined)
            throw new Error("the store returned no position for a stored step");
          noteStored(this.#workspace, branch, { ...place, agent: author.agent });
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
          throw new Error(`unexpected outcome of writing trace steps: ${outcome.kind}`);
        default:
          throw await refusalError(this.#workspace, outcome);
      }
    } catch (error) {
      this.#reject(steps, error);
    }
  }
}
