/** One of the two sides: opens the hub of the given sources and runs a workload on each message. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inScratch } from "../kit.ts";
import { WORKLOADS } from "./workloads.ts";

const [root] = process.argv.slice(2);
if (root === undefined || process.send === undefined)
  throw new Error("started by bench/against only");
const { openHub } = (await import(
  pathToFileURL(join(root, "src/index.ts")).href
)) as typeof import("../../src/index.ts");

process.on("message", async (name: keyof typeof WORKLOADS) => {
  const before = process.cpuUsage();
  const measured = await inScratch((folder) => WORKLOADS[name].run(openHub, folder));
  const { user, system } = process.cpuUsage(before);
  process.send?.({ ...measured, cpuMicros: (user + system) / WORKLOADS[name].operations });
});
process.send("ready");
