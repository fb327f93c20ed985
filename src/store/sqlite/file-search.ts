/**
 * Checks whether any of several texts occurs in the bytes of a store's file. Runs in a child process: this
 * process has the file open through SQLite and would lose its locks by opening it again (connection.ts).
 */
import { type ChildProcess, fork } from "node:child_process";

/** The file to search, and the texts to find in it. */
export interface FileSearch {
  readonly file: string;
  readonly forms: readonly string[];
}

/**
 * Returns whether the file contains any of the texts. They are sent by message: process arguments are public.
 */
export async function fileContainsAny(look: FileSearch): Promise<boolean> {
  if (look.forms.length === 0) return false;
  const child = startProcess();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  child.once("message", (held) => resolve(held as boolean));
  child.once("error", reject);
  child.once("exit", (code) =>
    reject(new Error(`search in ${look.file} exited with code ${code}`)),
  );
  child.send(look, (error) => error && reject(error));
  return promise;
}

function startProcess(): ChildProcess {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fork(new URL(`./file-search-process.${extension}`, import.meta.url), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    env: {}, // It needs no environment variables.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}
