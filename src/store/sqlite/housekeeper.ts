/**
 * The store's side of its housekeeper: starts the thread when there is enough to do, hands it
 * jobs, and never makes a write wait for it.
 */
import { Worker } from "node:worker_threads";
import { BatonError } from "../../errors.ts";
import type { FromThread, Job, JobResults, ToThread } from "./housekeeper-protocol.ts";

/**
 * How much may pile up before the thread is woken: records to index (scanning that many takes
 * about a millisecond) and commits to checkpoint.
 */
const WORTH_WAKING = 512;

interface Waiting {
  resolve(result: never): void;
  reject(error: unknown): void;
  onProgress(progress: never): void;
}

export class Housekeeper {
  readonly #file: string;
  readonly #jobs = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #nextJob = 1;
  #backlog = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** After a commit: counts what has piled up, and wakes the thread when it is worth it. */
  committed(appended: number): void {
    this.#backlog += 1 + appended;
    if (this.#backlog < WORTH_WAKING) return;
    try {
      this.#tell({ kind: "committed" });
      this.#backlog = 0;
    } catch {
      // No thread to be had right now: what was committed is safe, the next commit asks again.
    }
  }

  run<Kind extends Job["kind"]>(
    job: Extract<Job, { kind: Kind }>,
    onProgress: (progress: never) => void = () => {},
  ): Promise<JobResults[Kind]> {
    const number = this.#nextJob++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(number, { resolve: resolve as (result: never) => void, reject, onProgress });
      this.#tell({ kind: "job", number, job });
      this.#thread?.ref(); // Somebody waits: the process may not end before the answer.
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    thread.ref();
    this.#tell({ kind: "close" });
    await ended;
    this.#thread = undefined;
  }

  #tell(message: ToThread): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(message);
  }

  /** Unreferenced: a program that forgets to close its hub still ends. */
  #start(): Worker {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const thread = new Worker(new URL(`./housekeeper-thread.${extension}`, import.meta.url), {
      workerData: { file: this.#file },
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    thread.unref();
    thread.on("message", (message: FromThread) => this.#hear(message));
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, undefined));
    return thread;
  }

  #hear(message: FromThread): void {
    const waiting = this.#jobs.get(message.number);
    if (waiting === undefined) return;
    if (message.kind === "progress") {
      waiting.onProgress(message.progress as never);
      return;
    }
    this.#jobs.delete(message.number);
    if (this.#jobs.size === 0) this.#thread?.unref();
    if (message.kind === "done") waiting.resolve(message.result as never);
    else waiting.reject(rebuilt(message.error));
  }

  /** The next call starts a new one; a thread's late end is no concern of its successor. */
  #lost(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    for (const waiting of this.#jobs.values()) {
      waiting.reject(
        new BatonError("store_unavailable", {
          message: "The store's background thread ended before it had answered.",
          path: this.#file,
          hint: "Try again.",
          cause,
        }),
      );
    }
    this.#jobs.clear();
  }
}

/** Errors lose their class on the way between threads. */
function rebuilt(error: unknown): unknown {
  const plain = error as Partial<BatonError> & Error;
  if (plain?.code === undefined || plain.hint === undefined) return error;
  return new BatonError(plain.code, {
    message: plain.message,
    hint: plain.hint,
    path: plain.path ?? "",
  });
}
