/**
 * Entry point of the child process that runs SQL queries. A separate process is needed because a query cannot
 * be stopped from another thread while SQLite computes, and because SQLite's memory can only be limited for a
 * whole process. It runs one query at a time and exits with its parent.
 */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { ProcessResponse, QueryRequest } from "./protocol.ts";
import { runQuery } from "./sqlite-engine.ts";

/** Extra time after the query's limit, in which the parent normally kills the process. */
const GRACE_MS = 1_000;

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const watchdog = new Worker(
  fileURLToPath(new URL(`./watchdog-thread.${extension}`, import.meta.url)),
);
watchdog.unref();

process.on("disconnect", () => process.exit());
process.on("message", (question: QueryRequest) => {
  watchdog.postMessage(question.query.bounds.ms + GRACE_MS);
  try {
    send({ kind: "answer", outcome: runQuery(question) });
  } catch (error) {
    send({ kind: "broken", message: (error as Error).message });
  }
  watchdog.postMessage(0);
});
watchdog.once("online", () => send({ kind: "ready" }));

function send(message: ProcessResponse): void {
  process.send?.(message);
}
