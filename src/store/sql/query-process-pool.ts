/**
 * Pool of the processes that run SQL for one store. A process is started on demand, kept for a while and
 * killed when a query exceeds its time limit. Each process runs one query at a time; when all are busy,
 * further queries wait in order.
 */
import { type ChildProcess, fork } from "node:child_process";
import { BatonError } from "../../base/errors.ts";
import type { QueryOutcome } from "../sql-query.ts";
import { storeClosed } from "../store-closed.ts";
import { OUT_OF_MEMORY_SIGNAL, type ProcessResponse, type QueryRequest } from "./protocol.ts";

const MAX_PROCESSES = 2;
/** How long an idle process is kept. Starting one takes about 100 ms, and queries often come in series. */
const IDLE_MS = 10_000;

interface QueryProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
  idle?: NodeJS.Timeout;
}

/** Runs queries in at most two child processes. */
export class QueryProcessPool {
  readonly #store: string;
  readonly #idle: QueryProcess[] = [];
  readonly #all = new Set<QueryProcess>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #closed = false;

  constructor(store: string) {
    this.#store = store;
  }

  /** Runs a query. Throws `store_closed` after `close()` and `store_unavailable` if the process is lost. */
  async ask(question: QueryRequest): Promise<QueryOutcome> {
    if (this.#closed) throw storeClosed();
    if (this.#busy === MAX_PROCESSES)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#busy += 1;
    try {
      if (this.#closed) throw storeClosed();
      return await this.#run(this.#take(), question);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy -= 1;
      else next();
    }
  }

  /** Kills all processes; running and waiting queries throw `store_closed`. */
  close(): void {
    this.#closed = true;
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
    const told = Promise.withResolvers<ProcessResponse>();
    const hear = (said: unknown): void => told.resolve(said as ProcessResponse);
    const end = (outcome: QueryOutcome): void => told.resolve({ kind: "ended", outcome });
    const lose = (_code: unknown, signal: string): void => {
      if (signal === OUT_OF_MEMORY_SIGNAL) end({ kind: "too_large", bound: "memory" });
      else told.reject(this.#lost());
    };
    const timer = setTimeout(() => end({ kind: "timeout" }), question.query.bounds.ms);
    child.once("message", hear);
    child.once("exit", lose);
    try {
      child.send(question, (error) => error && told.reject(this.#lost(error)));
      const message = await told.promise;
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
      child.off("message", hear);
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
    return new BatonError("store_unavailable", {
      message: "The process that runs SQL ended before it returned a result.",
      path: this.#store,
      hint: "Retry the query; if it fails again, use one that needs less memory.",
      cause,
    });
  }
}
