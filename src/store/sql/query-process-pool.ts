/**
 * Pool of the processes that run SQL for one store. A process is started on demand, kept for a while and
 * killed when a query exceeds its time limit. Each process runs one query at a time; when all are busy,
 * further queries wait for their turn (query-queue.ts).
 */
import { type ChildProcess, fork } from "node:child_process";
import { BatonError } from "../../base/errors.ts";
import type { QueryOutcome } from "../sql-query.ts";
import { storeClosed } from "../store-closed.ts";
import { OUT_OF_MEMORY_SIGNAL, type ProcessResponse, type QueryRequest } from "./protocol.ts";
import { QueryQueue } from "./query-queue.ts";

/** How long an idle process is kept. Starting one takes about 100 ms, and queries often come in series. */
const IDLE_MS = 10_000;

interface QueryProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
  idle?: NodeJS.Timeout;
}

/** Runs queries in a few child processes. */
export class QueryProcessPool {
  readonly #store: string;
  readonly #idle: QueryProcess[] = [];
  readonly #all = new Set<QueryProcess>();
  readonly #queue: QueryQueue;
  #closed = false;

  constructor(store: string) {
    this.#store = store;
    this.#queue = new QueryQueue(store);
  }

  /**
   * Runs a query. Throws `store_closed` after `close()`, `store_unavailable` if the process is lost, and
   * `rate_limited` if too many queries wait.
   */
  ask(question: QueryRequest): Promise<QueryOutcome> {
    return this.#queue.run(question.query, () => this.#run(this.#take(), question));
  }

  /** Kills all processes; running and waiting queries throw `store_closed`. */
  close(): void {
    this.#closed = true;
    this.#queue.close();
    for (const runner of this.#all) this.#end(runner);
  }

  #take(): QueryProcess {
    const idle = this.#idle.pop();
    if (idle === undefined) return this.#start();
    clearTimeout(idle.idle);
    idle.child.ref();
    idle.child.channel?.ref();
    return idle;
  }

  #start(): QueryProcess {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const child = this.#forked(extension);
    const ready = new Promise<unknown>((resolve, reject) => {
      child.once("message", resolve);
      child.once("error", (error) => reject(this.#lost(error)));
      child.once("exit", () => reject(this.#lost()));
    });
    ready.catch(() => {}); // `#run` awaits it and reports the error.
    const runner: QueryProcess = { child, ready };
    this.#all.add(runner);
    child.once("exit", () => this.#forget(runner));
    return runner;
  }

  #forked(extension: string): ChildProcess {
    try {
      return fork(new URL(`./query-process.${extension}`, import.meta.url), {
        execArgv: ["--disable-warning=ExperimentalWarning", "--max-old-space-size=256"],
        env: {}, // The process needs no environment variables, and cannot leak what it does not have.
        serialization: "advanced",
        stdio: ["ignore", "ignore", "ignore", "ipc"],
      });
    } catch (error) {
      throw this.#lost(error);
    }
  }

  async #run(runner: QueryProcess, question: QueryRequest): Promise<QueryOutcome> {
    const { child } = runner;
    await runner.ready;
    const response = Promise.withResolvers<ProcessResponse>();
    const receive = (said: unknown): void => response.resolve(said as ProcessResponse);
    const end = (outcome: QueryOutcome): void => response.resolve({ kind: "ended", outcome });
    const lose = (_code: unknown, signal: string): void => {
      if (signal === OUT_OF_MEMORY_SIGNAL) end({ kind: "too_large", bound: "memory" });
      else response.reject(this.#lost());
    };
    const timer = setTimeout(() => end({ kind: "timeout" }), question.query.bounds.ms);
    child.once("message", receive);
    child.once("exit", lose);
    try {
      child.send(question, (error) => error && response.reject(this.#lost(error)));
      const message = await response.promise;
      switch (message.kind) {
        case "answer":
          this.#keep(runner);
          return message.outcome;
        case "ended":
          this.#end(runner);
          return message.outcome;
        case "broken":
          throw this.#lost(new Error(message.message));
        case "ready":
          throw new Error("a query process sent `ready` twice");
      }
    } catch (error) {
      this.#end(runner);
      throw this.#closed ? storeClosed() : error;
    } finally {
      clearTimeout(timer);
      child.off("message", receive);
      child.off("exit", lose);
    }
  }

  /** Keeps an idle process unreferenced, so that a program that forgets to close its hub can exit. */
  #keep(runner: QueryProcess): void {
    if (this.#closed) {
      this.#end(runner);
      return;
    }
    runner.child.unref();
    runner.child.channel?.unref();
    runner.idle = setTimeout(() => this.#end(runner), IDLE_MS);
    runner.idle.unref();
    this.#idle.push(runner);
  }

  #end(runner: QueryProcess): void {
    runner.child.kill("SIGKILL");
    this.#forget(runner);
  }

  #forget(runner: QueryProcess): void {
    clearTimeout(runner.idle);
    this.#all.delete(runner);
    const at = this.#idle.indexOf(runner);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #lost(cause?: unknown): BatonError {
    if (this.#closed) return storeClosed();
    return new BatonError("store_unavailable", {
      message: "The process that runs SQL ended before it returned a result.",
      path: this.#store,
      hint: "Retry the query; if it fails again, use one that needs less memory.",
      cause,
    });
  }
}
