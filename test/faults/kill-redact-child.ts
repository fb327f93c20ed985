/**
 * Redacts a text and reports each finished batch, until it is killed. After the given number of
 * batches it blocks, so that a late kill still interrupts a redaction.
 * Usage: `kill-redact-child.ts <address> <secret> <batches>`
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
