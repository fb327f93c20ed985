/** Child process that holds work on `<address>`; prints its handle, then each warning. */
import { openHub } from "../../../src/index.ts";
import { sayLine } from "../../support/child.ts";

const [address = ""] = process.argv.slice(2);
const hub = await openHub(address);
const ben = await hub.agent("ben");
const work = await ben.accept({ wait: true });
if (work === undefined) throw new Error("there was nothing to accept");
work.on("warned", (warnings) => {
  for (const { memory, by, reason } of warnings) sayLine({ memory, by, reason });
});
sayLine(work.handle);
setInterval(() => {}, 1_000); // Keeps the process alive until it is killed.
