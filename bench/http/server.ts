/**
 * Serves a hub in a separate process, like `baton start` but with a very high rate limit: here a
 * single caller generates the whole load. Prints its port and exits on SIGTERM.
 */
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";

const RATE = { perSecond: 1_000_000, burst: 1_000_000 };

const [store = "memory:"] = process.argv.slice(2);
const hub = await openLocalHub(store);
const listening = await listen(hub, {
  port: 0,
  open: "coordinator",
  rate: RATE,
  onBug: (bug) => process.stderr.write(`Unexpected error: ${String(bug)}\n`),
});
process.once("SIGTERM", () => void listening.close());
process.stdout.write(`${JSON.stringify({ port: listening.port })}\n`);
