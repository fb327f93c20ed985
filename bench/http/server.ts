/**
 * A hub in a process of its own, as `baton start` serves it, but for the limit on how often one caller may
 * call: here one caller stands for many. Says its port, and ends when it is asked to.
 */
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";

const RATE = { perSecond: 1_000_000, burst: 1_000_000 };

const [store = "memory:"] = process.argv.slice(2);
const hub = await openLocalHub(store);
const listening = await listen(hub, {
  port: 0,
  rate: RATE,
  onBug: (bug) => process.stderr.write(`a bug: ${String(bug)}\n`),
});
process.once("SIGTERM", () => void listening.close());
process.stdout.write(`${JSON.stringify({ port: listening.port })}\n`);
