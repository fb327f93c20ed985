/**
 * Kills the query process when a query exceeds its time or memory limit. The time limit matters if the
 * parent, which normally ends the query, has died; the memory limit, because SQLite does not limit memory by
 * itself here. Each message is the time limit in milliseconds; 0 means that the query has finished.
 */
import { parentPort } from "node:worker_threads";
import { OUT_OF_MEMORY_SIGNAL } from "./protocol.ts";

const CHECK_INTERVAL_MS = 20;
/** Maximum resident memory of the whole process; an idle one uses about 60 MB. */
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
