/**
 * The process that runs SQL: of its own, because a question that never ends cannot be stopped from
 * another thread while SQLite computes, and because what SQLite allocates can only be bounded for a
 * whole process. It answers one question at a time and ends with whoever started it.
 */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { FromProcess, Question } from "./protocol.ts";
import { answer } from "./sqlite-engine.ts";

const OVERTIME_MS = 1_000;

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const watchdog = new Worker(
  fileURLToPath(new URL(`./watchdog-thread.${extension}`, import.meta.url)),
);
watchdog.unref();

process.on("disconnect", () => process.exit());
process.on("message", (question: Question) => {
  watchdog.postMessage(question.query.bounds.ms + OVERTIME_MS);
  try {
    say({ kind: "answer", outcome: answer(question) });
  } catch (error) {
    say({ kind: "broken", message: (error as Error).message });
  }
  watchdog.postMessage(0);
});
watchdog.once("online", () => say({ kind: "ready" }));

function say(message: FromProcess): void {
  process.send?.(message);
}
