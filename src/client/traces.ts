/**
 * What agents trace, on its way to the hub: in order, one call at a time for each session. Every step is
 * answered: stored, or rejected and counted.
 */
import { BatonError } from "../errors.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceStep } from "../memory/trace.ts";
import type { TraceCounts } from "../memory/trace-log.ts";
import type { Wire } from "./wire.ts";

/** What came of all that was traced through this hub. */
export class TraceTally {
  stored = 0;
  failed = 0;
  waiting = 0;
  readonly #logs = new Set<RemoteTraces>();

  add(log: RemoteTraces): void {
    this.#logs.add(log);
  }

  get counts(): TraceCounts {
    const { stored, failed, waiting } = this;
    return { stored, failed, waiting };
  }

  /** Waits until nothing is left to send, whatever came of it. */
  async drain(): Promise<void> {
    await Promise.all([...this.#logs].map((log) => log.drain()));
  }
}

interface Waiting {
  readonly steps: readonly TraceStep[];
  resolve(memories: Memory[]): void;
  reject(error: unknown): void;
}

/** Of one session. */
export class RemoteTraces {
  readonly #wire: Wire;
  readonly #tally: TraceTally;
  readonly #waiting: Waiting[] = [];
  #sending: Promise<void> | undefined;
  /** Why the first step since the last flush was not stored. */
  #failure: { readonly error: unknown } | undefined;

  constructor(wire: Wire, tally: TraceTally) {
    this.#wire = wire;
    this.#tally = tally;
    tally.add(this);
  }

  async add(steps: readonly TraceStep[]): Promise<Memory[]> {
    try {
      refuseFull(this.#tally.waiting + steps.length);
    } catch (error) {
      this.#failed(steps.length, error);
      throw error;
    }
    this.#tally.waiting += steps.length;
    const stored = new Promise<Memory[]>((resolve, reject) => {
      this.#waiting.push({ steps, resolve, reject });
    });
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return stored;
  }

  async flush(): Promise<void> {
    await this.drain();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  async drain(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      await this.#send(next);
    }
  }

  async #send({ steps, resolve, reject }: Waiting): Promise<void> {
    try {
      const memories = await this.#wire.call("trace", { steps });
      this.#tally.stored += steps.length;
      resolve(memories);
    } catch (error) {
      this.#failed(steps.length, error);
      reject(error);
    } finally {
      this.#tally.waiting -= steps.length;
    }
  }

  #failed(steps: number, error: unknown): void {
    this.#tally.failed += steps;
    this.#failure ??= { error };
  }
}

function refuseFull(actual: number): void {
  const max = DEFAULT_LIMITS.traceBuffer;
  if (actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `${actual} steps would wait to be stored, the limit traceBuffer is ${max}.`,
    path: "trace",
    hint: "Wait for trace() now and then (await).",
    details: { limit: "traceBuffer", max, actual },
  });
}
