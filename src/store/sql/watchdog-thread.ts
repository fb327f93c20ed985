/**
 * Ends the process when a question takes more than it may: time, where nobody is left who would end
 * it (whoever asked may have died meanwhile), or memory, which SQLite here does not bound by itself.
 * Told how many milliseconds there are; 0: the question was answered.
 */
import { parentPort } from "node:worker_threads";
import { OUT_OF_MEMORY_SIGNAL } from "./protocol.ts";

const CHECK_INTERVAL_MS = 20;
/** The whole process; with nothing to do it has about 60 MB. */
const MAX_RSS_BYTES = 512 * 1024 * 1024;

let timer: NodeJS.Timeout | undefined;

parentPort?.on("message", (ms: number) => {
  clearInterval(timer);
  if (ms === 0) return;
  const endAt = performance.now() + ms;
  timer = setInterval(() => {
    if (process.memoryUsage.rss() > MAX_RSS_BYTES) process.kill(process.pid, OUT_OF_MEMORY_SIGNAL);
    if (performance.now() > endAt) process.kill(process.pid, "SIGKILL");
  }, CHECK_INTERVAL_MS);
});
