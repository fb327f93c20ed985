/** Child process that works until it is killed: `<address>`; prints each task that it begins. */
import { setImmediate as immediate } from "node:timers/promises";
import { openHub } from "../../../src/index.ts";
import { sayLine } from "../../support/child.ts";

const [address = ""] = process.argv.slice(2);
const hub = await openHub(address, { limits: { leaseMs: 3_600_000 } });
const ben = await hub.agent("ben");
await ben.work(async ({ envelope }) => {
  sayLine(envelope.task);
  await immediate();
});
