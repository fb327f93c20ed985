/** The child processes of the systems: started once, called by request name. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Verbs } from "./child.ts";
import type { System } from "./system.ts";

type Given<V extends keyof Verbs> = Parameters<Verbs[V]>;
type Answer<V extends keyof Verbs> = Awaited<ReturnType<Verbs[V]>>;

interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string;
}

interface PendingRequest {
  readonly late: NodeJS.Timeout;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Longer than any single request takes; a system that hangs longer is reported as failed. */
const TIMEOUT_MS = 300_000;

export class Process {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingRequest>();
  #next = 1;

  constructor(system: System) {
    const script = join(import.meta.dirname, "child.ts");
    this.#child = fork(script, [system.name], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (reply: Reply) => this.#settle(reply));
    this.#child.on("exit", (code, signal) => {
      const ended = `A process of ${system.title} exited (${signal ?? code})`;
      for (const id of this.#pending.keys()) this.#settle({ id, error: ended });
    });
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  ask<V extends keyof Verbs>(verb: V, ...[given]: Given<V>): Promise<Answer<V>> {
    const id = this.#next++;
    return new Promise<Answer<V>>((resolve, reject) => {
      if (!this.alive) return reject(new Error("The process has exited"));
      const late = setTimeout(
        () => this.#settle({ id, error: `No answer to "${verb}"` }),
        TIMEOUT_MS,
      );
      this.#pending.set(id, { late, resolve: resolve as PendingRequest["resolve"], reject });
      this.#child.send({ id, verb, given });
    });
  }

  async kill(): Promise<void> {
    if (!this.alive) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  #settle({ id, answer, error }: Reply): void {
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    clearTimeout(request?.late);
    if (error === undefined) request?.resolve(answer);
    else request?.reject(new Error(error));
  }
}

/** Reuses the processes of each system between measurements. */
export class Processes implements AsyncDisposable {
  readonly #processes = new Map<string, Process[]>();

  /** Returns the first `count` processes of a system; replaces those that have died. */
  of(system: System, count: number): Process[] {
    const kept = (this.#processes.get(system.name) ?? []).filter((each) => each.alive);
    while (kept.length < count) kept.push(new Process(system));
    this.#processes.set(system.name, kept);
    return kept.slice(0, count);
  }

  /** Replaces the processes of a system after a failure, since their state is unknown. */
  async renew(system: System): Promise<void> {
    await Promise.all((this.#processes.get(system.name) ?? []).map((each) => each.kill()));
    this.#processes.delete(system.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#processes.values()].flat().map((each) => each.kill()));
  }
}
