/** Child process that holds work until it is killed: `<address> <lease>`; prints the handle. */
import { openHub, type SessionOptions } from "../../../src/index.ts";
import { sayLine } from "../../support/child.ts";

const [address = "", lease = "process"] = process.argv.slice(2);
const hub = await openHub(address, { limits: { leaseMs: 3_600_000 } });
const session = { instance: "in-child", lease } as SessionOptions;
const coder = await hub.agent("coder", undefined, session);
const work = await coder.accept({ wait: true });
await work?.note("Half of it is done.");
sayLine(work?.handle);
setInterval(() => {}, 1_000); // Keeps the process alive until it is killed.
