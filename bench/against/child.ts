/** One of the two sides: opens the hub of the given sources and runs a workload on each message. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Hub } from "../../src/index.ts";
import { inScratch } from "../kit.ts";
import { WORKLOADS } from "./workloads.ts";

const [root] = process.argv.slice(2);
if (root === undefined || process.send === undefined)
  throw new Error("started by bench/against only");
const sources = (await import(
  pathToFileURL(join(root, "src/index.ts")).href
)) as typeof import("../../src/index.ts");

/** A hub from before its methods were grouped gets the groups that the workloads use. */
const openGrouped: typeof sources.openHub = async (...args) => {
  const hub = await sources.openHub(...args);
  if ("index" in hub) return hub;
  const former = hub as unknown as {
    readonly indexState: Hub["index"]["state"];
    readonly books: Hub["deliveries"]["totals"];
  };
  return Object.assign(former as unknown as Hub, {
    index: { state: () => former.indexState() },
    deliveries: { totals: () => former.books() },
  });
};

process.on("message", async (name: keyof typeof WORKLOADS) => {
  const before = process.cpuUsage();
  const measured = await inScratch((folder) => WORKLOADS[name].run(openGrouped, folder));
  const { user, system } = process.cpuUsage(before);
  process.send?.({ ...measured, cpuMicros: (user + system) / WORKLOADS[name].operations });
});
process.send("ready");
