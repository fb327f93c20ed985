/**
 * Another process on the store: opens it, writes a memory where one is named, tells all it sees, and
 * closes it. `locks-child.ts <store's address> [content]`
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", content = ""] = process.argv.slice(2);

await using hub = await openHub(address);
if (content !== "") await (await hub.agent("guest", {})).remember({ content });
sayLine(
  (await hub.memories.recent({ limit: 100 })).items.map((memory) => memory.content).toSorted(),
);
