/** The processes of the systems, as the benchmark sees them: started once, asked by name. */
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

interface Asked {
  readonly late: NodeJS.Timeout;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Longer than any single thing takes; a system that hangs is reported, not waited for. */
const PATIENCE_MS = 300_000;

export class Process {
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, Asked>();
  #next = 1;

  constructor(system: System) {
    const script = join(import.meta.dirname, "child.ts");
    this.#child = fork(script, [system.name], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (reply: Reply) => this.#settle(reply));
    this.#child.on("exit", (code, signal) => {
      const ended = `a process of ${system.title} ended (${signal ?? code})`;
      for (const id of this.#asked.keys()) this.#settle({ id, error: ended });
    });
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  ask<V extends keyof Verbs>(verb: V, ...[given]: Given<V>): Promise<Answer<V>> {
    const id = this.#next++;
    return new Promise<Answer<V>>((resolve, reject) => {
      if (!this.alive) return reject(new Error("the process has ended"));
      const late = setTimeout(
        () => this.#settle({ id, error: `no answer to "${verb}"` }),
        PATIENCE_MS,
      );
      this.#asked.set(id, { late, resolve: resolve as Asked["resolve"], reject });
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
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    clearTimeout(asked?.late);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(error));
  }
}

/** Keeps the processes of every system from one measurement to the next. */
export class Processes implements AsyncDisposable {
  readonly #kept = new Map<string, Process[]>();

  /** The first `count` processes of a system; those that died are replaced. */
  of(system: System, count: number): Process[] {
    const kept = (this.#kept.get(system.name) ?? []).filter((each) => each.alive);
    while (kept.length < count) kept.push(new Process(system));
    this.#kept.set(system.name, kept);
    return kept.slice(0, count);
  }

  /** After a failure: what state they are in is not known. */
  async renew(system: System): Promise<void> {
    await Promise.all((this.#kept.get(system.name) ?? []).map((each) => each.kill()));
    this.#kept.delete(system.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#kept.values()].flat().map((each) => each.kill()));
  }
}
