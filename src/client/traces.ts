/**
 * What agents trace, on its way to the hub: in order, one call at a time for each session. Every step is
 * answered: stored, or rejected and counted.
 */
import { BatonError, isBatonError } from "../base/errors.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { TraceCounts } from "../memory/traces/trace-log.ts";
import type { Wire } from "./connection/wire.ts";
import type { ClientContext } from "./session-connection.ts";
import { withId } from "./with-id.ts";

/** What came of all that was traced through this hub. */
export class TraceTally {
  stored = 0;
  failed = 0;
  waiting = 0;
  /** Those that have something to send. */
  readonly busy = new Set<RemoteTraces>();

  get counts(): TraceCounts {
    const { stored, failed, waiting } = this;
    return { stored, failed, waiting };
  }

  /** Sends what is left; where the hub stays out of reach, that is told of all of it at once. */
  async finish(): Promise<void> {
    await Promise.all([...this.busy].map((log) => log.finish()));
  }
}

interface QueuedSteps {
  readonly steps: readonly TraceStep[];
  resolve(memories: Memory[]): void;
  reject(error: unknown): void;
}

/** Of one session. */
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

  async flush(): Promise<void> {
    await this.drain();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

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
    // At once: what is added a moment later begins anew.
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
        this.#giveUp(error); // Each of the others would wait as long for the same.
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
    message: `${actual} steps would wait to be stored, the limit traceBuffer is ${max}.`,
    path: "trace",
    hint: "Wait for trace() now and then (await).",
    details: { limit: "traceBuffer", max, actual },
  });
}
