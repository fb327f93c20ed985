/**
 * Another process on the store: opens it, writes a memory if content is given, reports the contents
 * of all memories, and closes it. Usage: `locks-child.ts <store address> [content]`
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", content = ""] = process.argv.slice(2);

await using hub = await openHub(address);
if (content !== "") await (await hub.agent("guest", {})).remember({ content });
sayLine(
  (await hub.memories.recent({ limit: 100 })).items.map((memory) => memory.content).toSorted(),
);
