/**
 * Redacts a text, saying each time that a batch is done; killed at any moment. It stops when so many
 * are done, and waits to be killed: a late kill finds it at work on that store too.
 * `kill-redact-child.ts <address> <secret> <batches>`
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", secret = "", batches = ""] = process.argv.slice(2);
let left = Number(batches);
const onProgress = (progress: unknown): void => {
  sayLine(progress);
  if (--left === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
const hub = await openHub(address);
const ada = await hub.agent("ada");
await ada.memories.redact({ text: secret }, "leaked", { onProgress });
await hub.close();
