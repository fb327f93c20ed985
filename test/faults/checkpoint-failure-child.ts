/**
 * Writes to a store until the background thread reports that the log could not be merged, then ends: closes
 * the hub, or exits without. `checkpoint-failure-child.ts <address> close|exit`
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";
import { until } from "../support/until.ts";
import { BATCH, contentsOf } from "./checkpoint-failure-facts.ts";

const [address = "", end = ""] = process.argv.slice(2);
/** The background thread is woken after each eleven, and merges a log of 2,000 pages. */
const BATCHES_TO_CHECKPOINT = 34;
let warning: string | undefined;
process.on("SIGXFSZ", () => {}); // The write fails instead.
process.on("warning", ({ message }) => {
  warning ??= message;
});
const hub = await openHub(address);
const agent = await hub.agent("ada", { role: "writer" });
for (let n = 0; n < BATCHES_TO_CHECKPOINT; n++) {
  for (const { id } of await agent.remember(contentsOf(n))) sayLine({ id });
}
sayLine({ warning: await until("a warning", () => warning) });
for (let n = 0; n < BATCH; n++) sayLine({ id: (await agent.remember({ content: "after" })).id });
if (end === "close") await hub.close();
else process.exit();
