/**
 * A thread that does jobs somebody waits for: started with the first one, keeps the process alive only
 * while one is under way, and whoever waits is told when the thread is lost.
 */
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { BatonError } from "../../../base/errors.ts";

export type ThreadRequest<Job> =
  | { readonly kind: "job"; readonly number: number; readonly job: Job }
  /** Something has happened that nobody waits for. */
  | { readonly kind: "notice" }
  | { readonly kind: "close" };

export type ThreadResponse<Result, Progress = never> =
  | { readonly kind: "progress"; readonly number: number; readonly progress: Progress }
  | { readonly kind: "done"; readonly number: number; readonly result: Result }
  | { readonly kind: "failed"; readonly number: number; readonly error: unknown };

export interface ThreadData {
  readonly file: string;
}

interface PendingJob<Result, Progress> {
  resolve(result: Result): void;
  reject(error: unknown): void;
  onProgress(progress: Progress): void;
}

export class JobThread<Job, Result, Progress = never> {
  readonly #module: URL;
  readonly #file: string;
  readonly #jobs = new Map<number, PendingJob<Result, Progress>>();
  #thread: Worker | undefined;
  #next = 1;

  /** `module` beside `base`, without its extension: .ts from the sources, .js as published. */
  constructor(file: string, { module, base }: { module: string; base: string }) {
    this.#file = file;
    this.#module = new URL(`${module}.${base.endsWith(".ts") ? "ts" : "js"}`, base);
  }

  run(job: Job, onProgress: (progress: Progress) => void = () => {}): Promise<Result> {
    const number = this.#next++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(number, { resolve, reject, onProgress });
      this.#tell({ kind: "job", number, job });
      this.#thread?.ref(); // Somebody waits: the process may not end before the answer.
    });
  }

  notice(): void {
    this.#tell({ kind: "notice" });
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

  #tell(message: ThreadRequest<Job>): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(message);
  }

  /** Unreferenced: a program that forgets to close its hub still ends. */
  #start(): Worker {
    if (this.#module.pathname.endsWith(".ts")) disableWasmCodeGc();
    const thread = new Worker(this.#module, {
      workerData: { file: this.#file } satisfies ThreadData,
      execArgv: ["--disable-warning=ExperimentalWarning"],
      // What is thrown away soon is collected soon: a thread of its own would take 64 MB for it.
      resourceLimits: { maxYoungGenerationSizeMb: 32 },
    });
    thread.unref();
    thread.on("message", (message: ThreadResponse<Result, Progress>) => this.#hear(message));
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, undefined));
    return thread;
  }

  #hear(message: ThreadResponse<Result, Progress>): void {
    const waiting = this.#jobs.get(message.number);
    if (waiting === undefined) return;
    if (message.kind === "progress") {
      waiting.onProgress(message.progress);
      return;
    }
    this.#jobs.delete(message.number);
    if (this.#jobs.size === 0) this.#thread?.unref();
    if (message.kind === "done") waiting.resolve(message.result);
    else waiting.reject(restoreError(message.error));
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

/**
 * Node takes the types out of .ts files with WebAssembly, in each thread that loads some. The V8 of Node
 * 24 (13.6, without 9b8ca54d5a) collects its code for all threads together, and what one of them looks
 * up just then is freed twice: the process dies. Not collected, it is a few megabytes for as long as the
 * process lives. As published, threads load .js and no WebAssembly, and nothing is changed.
 */
const disableWasmCodeGc = (): void => setFlagsFromString("--no-wasm-code-gc");

/** Errors lose their class on the way between threads. */
function restoreError(error: unknown): unknown {
  const plain = error as Partial<BatonError> & Error;
  if (plain?.code === undefined || plain.hint === undefined) return error;
  return new BatonError(plain.code, {
    message: plain.message,
    hint: plain.hint,
    path: plain.path ?? "",
  });
}
