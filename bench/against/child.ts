/** Opens hubs from the given source tree and runs one workload for each message it receives. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Hub } from "../../src/index.ts";
import { inScratch } from "../kit.ts";
import { WORKLOADS } from "./workloads.ts";

const [root] = process.argv.slice(2);
if (root === undefined || process.send === undefined)
  throw new Error("This program is started by bench/against/main.ts");
const sources = (await import(
  pathToFileURL(join(root, "src/index.ts")).href
)) as typeof import("../../src/index.ts");

/** Adds the method groups that the workloads use to hubs of commits that do not have them yet. */
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
