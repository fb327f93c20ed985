/**
 * A process of the role "worker" on the store in its first argument: takes all work it can get, holds it,
 * and reports each delivery and each warning. The second argument is by how many milliseconds its clock is
 * ahead, the third its agent, the fourth the lease time.
 */
import { openHub, type Work } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", ahead = "0", name = "", leaseMs = "0"] = process.argv.slice(2);
const clock = { now: () => Date.now() + Number(ahead) };
const hub = await openHub(address, { clock, limits: { leaseMs: Number(leaseMs) } });
const agent = await hub.agent(name, { role: "worker" });
process.on("warning", (warning) => sayLine({ warned: (warning as { code?: string }).code }));
sayLine({ ready: true });
const held: Work[] = [];
for await (const offer of agent.inbox()) {
  const work = await offer.accept();
  held.push(work);
  sayLine({ took: work.delivery.id });
}
