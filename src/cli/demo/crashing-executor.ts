/**
 * Runs the demo's executor in a separate process, which is killed during its work. This file contains both
 * sides: the demo calls `startCrashingExecutor`; the child process runs the end of the file.
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

/** Controls the child process; disposing it kills the process. */
export interface CrashingExecutor extends Disposable {
  /** Makes it accept the task and write a note; returns its process id and attempt number. */
  work(order: Order): Promise<{ readonly pid: number; readonly attempt: number }>;
  /** Kills it with SIGKILL, so that no cleanup runs, as in a crash. */
  kill(): Promise<void>;
}

/** Starts the process. Called early, so that it is loaded when it is needed. */
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
    child.once("exit", (code) => reject(new Error(`the executor process exited (code ${code})`)));
  });
}

async function acceptAndNote({ store, workspace, task }: Order): Promise<void> {
  const hub = await openStore({ store, workspace }, { limits: { leaseMs: SHORT_LEASE_MS } });
  const executor = await hub.agent("executor");
  const work = await executor.accept({ task });
  if (work === undefined) throw new Error(`no handoff of ${task} is ready for the executor`);
  await work.note(NOTE_BEFORE_DEATH);
  process.send?.(work.delivery.attempt);
  // The open hub keeps the process alive and renews the lease until it is killed.
}

if (import.meta.main) {
  process.once("message", (order: Order) => void acceptAndNote(order));
  process.once("disconnect", () => process.exit()); // The demo itself was stopped.
}
