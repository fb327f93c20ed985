/**
 * An executor in a process of its own, made to be killed in the middle of its work. This file is
 * both sides: the demo calls `startCrashingExecutor`, the process it starts runs the end of the file.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { openStore } from "../store.ts";
import { NOTE_BEFORE_DEATH, SHORT_LEASE_MS } from "./demo-texts.ts";

interface Order {
  readonly store: string;
  readonly workspace: string;
  readonly task: string;
}

export interface CrashingExecutor extends Disposable {
  /** Has it accept the task and note something; returns its process id and the attempt it holds. */
  work(order: Order): Promise<{ readonly pid: number; readonly attempt: number }>;
  /** Kills it the way a crash does: nothing of it runs any more. */
  kill(): Promise<void>;
}

/** Starts the process. Early, so that nobody waits for it to load. */
export function startCrashingExecutor(): CrashingExecutor {
  const child = fork(import.meta.filename, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  return {
    async work(order) {
      child.send(order);
      const attempt = (await answerOf(child)) as number;
      return { pid: child.pid ?? 0, attempt };
    },
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the executor's process ended (${code})`)));
  });
}

async function acceptAndNote({ store, workspace, task }: Order): Promise<void> {
  const hub = await openStore({ store, workspace }, { limits: { leaseMs: SHORT_LEASE_MS } });
  const executor = await hub.agent("executor");
  const work = await executor.accept({ task });
  if (work === undefined) throw new Error(`nothing waits for the executor on ${task}`);
  await work.note(NOTE_BEFORE_DEATH);
  process.send?.(work.delivery.attempt);
  // Works on, renewing its lease, until it is killed.
}

if (import.meta.main) {
  process.once("message", (order: Order) => void acceptAndNote(order));
  process.once("disconnect", () => process.exit()); // The demo itself was stopped.
}
