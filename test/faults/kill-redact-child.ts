/** Redacts a text, saying each time that a batch is done; killed at any moment. */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", secret = ""] = process.argv.slice(2);
const hub = await openHub(address);
const ada = await hub.agent("ada");
await ada.redact({ text: secret }, "leaked", { onProgress: sayLine });
await hub.close();
