/** Accepts work, listens for its changes, and ends without closing the hub. */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = ""] = process.argv.slice(2);
const hub = await openHub(address);
const work = await (await hub.agent("coder")).accept();
if (work === undefined) throw new Error("nothing to accept");
work.on("extended", () => {});
sayLine({ isLost: work.signal.aborted });
await work.view(); // By now the client is listening.
