/**
 * The processes that run SQL for one store: started when asked for, kept for a while, killed when a
 * question takes too long. Each answers one question at a time; more than a few wait their turn.
 */
import { type ChildProcess, fork } from "node:child_process";
import { BatonError } from "../../base/errors.ts";
import type { QueryOutcome } from "../sql-query.ts";
import { storeClosed } from "../store-closed.ts";
import { OUT_OF_MEMORY_SIGNAL, type ProcessResponse, type QueryRequest } from "./protocol.ts";

const MAX_PROCESSES = 2;
/** Starting one takes about 100 ms; questions often come in rows. */
const IDLE_MS = 10_000;

interface QueryProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
  idle?: NodeJS.Timeout;
}

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
    ready.catch(() => {}); // Whoever asks is told.
    const runner: QueryProcess = { child, ready };
    this.#all.add(runner);
    child.once("exit", () => this.#forget(runner));
    return runner;
  }

  #forked(extension: string): ChildProcess {
    try {
      return fork(new URL(`./query-process.${extension}`, import.meta.url), {
        execArgv: ["--disable-warning=ExperimentalWarning", "--max-old-space-size=256"],
        env: {}, // It needs nothing of it, and what it does not have it cannot give away.
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
          throw new Error("a process is ready once");
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

  /** Unreferenced: a program that forgets to close its hub still ends, and this with it. */
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
      message: "The process that runs SQL ended before it had answered.",
      path: this.#store,
      hint: "Try again; a question that needs less memory may get through.",
      cause,
    });
  }
}
