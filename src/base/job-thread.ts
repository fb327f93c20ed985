/**
 * A worker thread that runs jobs for callers. It is started with the first job and keeps the process alive
 * only while a job is running. If the thread is lost, waiting callers get an error. An error that no caller
 * waits for is reported as a process warning, once.
 */
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { BatonError, warnOfBackgroundError } from "./errors.ts";

/** A message to the thread. */
export type ThreadRequest<Job> =
  | { readonly kind: "job"; readonly number: number; readonly job: Job }
  /** Something happened; no answer is expected. */
  | { readonly kind: "notice" }
  | { readonly kind: "close" };

/** A message from the thread about the job with that number. */
export type ThreadResponse<Result, Progress = never> =
  | { readonly kind: "progress"; readonly number: number; readonly progress: Progress }
  | { readonly kind: "done"; readonly number: number; readonly result: Result }
  | { readonly kind: "failed"; readonly number: number; readonly error: unknown }
  /** An error that belongs to no job. */
  | { readonly kind: "trouble"; readonly error: unknown };

/** What the thread is started with. */
export interface ThreadData {
  readonly file: string;
}

interface PendingJob<Result, Progress> {
  resolve(result: Result): void;
  reject(error: unknown): void;
  onProgress(progress: Progress): void;
}

/** The caller's side of a worker thread. */
export class JobThread<Job, Result, Progress = never> {
  readonly #module: URL;
  readonly #file: string;
  readonly #jobs = new Map<number, PendingJob<Result, Progress>>();
  readonly #reported = new Set<string>();
  #thread: Worker | undefined;
  #closing = false;
  #next = 1;

  /** `module` is relative to `base` and has no extension: .ts in the sources, .js as published. */
  constructor(file: string, { module, base }: { module: string; base: string }) {
    this.#file = file;
    this.#module = new URL(`${module}.${base.endsWith(".ts") ? "ts" : "js"}`, base);
  }

  /** Runs a job. Rejects with the thread's error, or with `store_unavailable` if the thread ends. */
  run(job: Job, onProgress: (progress: Progress) => void = () => {}): Promise<Result> {
    const number = this.#next++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(number, { resolve, reject, onProgress });
      this.#send({ kind: "job", number, job });
      this.#thread?.ref(); // A caller waits, so the process must not end before the answer.
    });
  }

  /** Sends a notice without waiting. Starts the thread if needed. */
  notice(): void {
    this.#send({ kind: "notice" });
  }

  /** Asks the thread to close and waits until it has ended; does nothing if it was never started. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    this.#closing = true; // Keeps the process alive until the thread has ended, whatever it still answers.
    thread.ref();
    this.#send({ kind: "close" });
    await ended;
    this.#closing = false;
    this.#thread = undefined;
  }

  #send(message: ThreadRequest<Job>): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(message);
  }

  /** Starts the thread unreferenced, so that a program that does not close its hub still ends. */
  #start(): Worker {
    if (this.#module.pathname.endsWith(".ts")) disableWasmCodeGc();
    const thread = new Worker(this.#module, {
      workerData: { file: this.#file } satisfies ThreadData,
      execArgv: ["--disable-warning=ExperimentalWarning"],
      // A small young generation is collected sooner; by default each thread would use 64 MB for it.
      resourceLimits: { maxYoungGenerationSizeMb: 32 },
    });
    thread.unref();
    thread.on("message", (message: ThreadResponse<Result, Progress>) => this.#receive(message));
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, undefined));
    return thread;
  }

  #receive(message: ThreadResponse<Result, Progress>): void {
    if (message.kind === "trouble") {
      this.#report(restoreError(message.error));
      return;
    }
    const waiting = this.#jobs.get(message.number);
    if (waiting === undefined) return;
    if (message.kind === "progress") {
      waiting.onProgress(message.progress);
      return;
    }
    this.#jobs.delete(message.number);
    if (this.#jobs.size === 0 && !this.#closing) this.#thread?.unref();
    if (message.kind === "done") waiting.resolve(message.result);
    else waiting.reject(restoreError(message.error));
  }

  /**
   * Rejects all jobs. The next call starts a new thread; the late end of an old thread does not affect it.
   */
  #lost(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    if (cause !== undefined && this.#jobs.size === 0) this.#report(cause);
    for (const waiting of this.#jobs.values()) {
      waiting.reject(
        new BatonError("store_unavailable", {
          message: "The store's background thread ended before it answered.",
          path: this.#file,
          hint: "Retry the call.",
          cause,
        }),
      );
    }
    this.#jobs.clear();
  }

  #report(error: unknown): void {
    const { message } = error as Error;
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    warnOfBackgroundError(error);
  }
}

/**
 * Works around a crash of V8. Node.js strips types from .ts files with WebAssembly, in each thread that loads
 * some. The V8 of Node.js 24 (13.6, without 9b8ca54d5a) collects WebAssembly code for all threads together,
 * and code that one of them is accessing at that moment is freed twice: the process dies. Without the
 * collection, a few megabytes are kept until the process ends. As published, threads load .js and no
 * WebAssembly, and nothing is changed.
 */
const disableWasmCodeGc = (): void => setFlagsFromString("--no-wasm-code-gc");

/** Creates a `BatonError` again from its fields, because errors lose their class between threads. */
function restoreError(error: unknown): unknown {
  const plain = error as Partial<BatonError> & Error;
  if (plain?.code === undefined || plain.hint === undefined) return error;
  return new BatonError(plain.code, {
    message: plain.message,
    hint: plain.hint,
    path: plain.path ?? "",
  });
}
