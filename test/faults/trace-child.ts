/**
 * The process that is killed: writes trace steps without waiting, prunes if asked to, and reports
 * each step as soon as it is stored. Usage: `trace-child.ts <address> <prunes>`
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", prunes = ""] = process.argv.slice(2);
const hub = await openHub(address);
const agent = await hub.agent("ada", {});
let n = 0;

const trace = async (): Promise<void> => {
  const step = await agent.trace({ kind: "tool", name: `t${n++}`, input: "x".repeat(300) });
  const { id, seq, link } = step;
  sayLine({ kind: "stored", id, seq, link, session: agent.instance });
};

sayLine({ kind: "under-way", session: agent.instance });
if (prunes === "prunes") {
  for (;;) {
    await Promise.all(Array.from({ length: 400 }, trace));
    await hub.memories.prune({ now: Number.MAX_SAFE_INTEGER });
    sayLine({ kind: "pruned", seq: n });
  }
}
await Promise.all(
  Array.from({ length: 32 }, async () => {
    for (;;) await trace();
  }),
);
