/**
 * Buffers traced steps and sends them to the hub: in order, one call at a time for each session. Every step
 * is either stored, or rejected and counted as failed.
 */
import { BatonError, isBatonError } from "../base/errors.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { TraceCounts } from "../memory/traces/trace-log.ts";
import type { Wire } from "./connection/wire.ts";
import type { ClientContext } from "./session-connection.ts";
import { withId } from "./with-id.ts";

/** Counts the steps traced through this client. */
export class TraceTally {
  stored = 0;
  failed = 0;
  waiting = 0;
  /** Sessions with buffered steps. */
  readonly busy = new Set<RemoteTraces>();

  get counts(): TraceCounts {
    const { stored, failed, waiting } = this;
    return { stored, failed, waiting };
  }

  /** Sends buffered steps. If the hub stays unreachable, all of them are rejected at once. */
  async finish(): Promise<void> {
    await Promise.all([...this.busy].map((log) => log.finish()));
  }
}

interface QueuedSteps {
  readonly steps: readonly TraceStep[];
  resolve(memories: Memory[]): void;
  reject(error: unknown): void;
}

/** The trace of one session. */
export class RemoteTraces {
  readonly #wire: Wire;
  readonly #tally: TraceTally;
  readonly #ids: ClientContext["ids"];
  readonly #waiting: QueuedSteps[] = [];
  #isFinishing = false;
  #sending: Promise<void> | undefined;
  /** Why the first step since the last flush was not stored. */
  #failure: { readonly error: unknown } | undefined;

  constructor(wire: Wire, { tally, ids }: Pick<ClientContext, "tally" | "ids">) {
    this.#wire = wire;
    this.#tally = tally;
    this.#ids = ids;
  }

  /** Buffers steps; resolves when they are stored. Throws limit_exceeded if the buffer is full. */
  async add(given: readonly TraceStep[]): Promise<Memory[]> {
    const steps = given.map((step) => withId(this.#ids, step));
    try {
      requireBufferSpace(this.#tally.waiting + steps.length);
    } catch (error) {
      this.#failed(steps.length, error);
      throw error;
    }
    this.#tally.waiting += steps.length;
    const stored = new Promise<Memory[]>((resolve, reject) => {
      this.#waiting.push({ steps, resolve, reject });
    });
    this.#sending ??= this.#sendAll();
    return stored;
  }

  /** Waits until all steps are sent. Throws the first error since the last flush. */
  async flush(): Promise<void> {
    await this.drain();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Waits until all steps are sent, without throwing. */
  async drain(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.drain();
  }

  async #sendAll(): Promise<void> {
    this.#tally.busy.add(this);
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#send(next);
    }
    // Synchronously, so that a step added later starts a new run.
    this.#sending = undefined;
    this.#tally.busy.delete(this);
  }

  async #send({ steps, resolve, reject }: QueuedSteps): Promise<void> {
    try {
      const memories = await this.#wire.call<Memory[]>("trace", { steps });
      this.#tally.stored += steps.length;
      resolve(memories);
    } catch (error) {
      this.#failed(steps.length, error);
      reject(error);
      if (this.#isFinishing && isBatonError(error) && error.code === "hub_unreachable") {
        this.#giveUp(error); // Each of the others would wait as long for the same error.
      }
    } finally {
      this.#tally.waiting -= steps.length;
    }
  }

  #giveUp(error: unknown): void {
    for (const { steps, reject } of this.#waiting.splice(0)) {
      this.#tally.waiting -= steps.length;
      this.#failed(steps.length, error);
      reject(error);
    }
  }

  #failed(steps: number, error: unknown): void {
    this.#tally.failed += steps;
    this.#failure ??= { error };
  }
}

function requireBufferSpace(actual: number): void {
  const max = DEFAULT_LIMITS.traceBuffer;
  if (actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `The trace buffer would hold ${actual} steps; the limit traceBuffer is ${max}.`,
    path: "trace",
    hint: "Await trace() from time to time.",
    details: { limit: "traceBuffer", max, actual },
  });
}
