/**
 * Whether any of some texts stands in the bytes of a store's file. Looked at in a process of its own:
 * this one has the file open through SQLite, and would lose its locks (connection.ts).
 */
import { type ChildProcess, fork } from "node:child_process";

export interface FileSearch {
  readonly file: string;
  readonly forms: readonly string[];
}

/** The texts go by message: everybody on the machine can read what a process was started with. */
export async function fileContainsAny(look: FileSearch): Promise<boolean> {
  if (look.forms.length === 0) return false;
  const child = startProcess();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  child.once("message", (held) => resolve(held as boolean));
  child.once("error", reject);
  child.once("exit", (code) => reject(new Error(`the look into ${look.file} ended with ${code}`)));
  child.send(look, (error) => error && reject(error));
  return promise;
}

function startProcess(): ChildProcess {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fork(new URL(`./file-search-process.${extension}`, import.meta.url), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    env: {}, // It needs nothing of it.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}
