/**
 * Circuit breaker: after a receiver has lost three deliveries in a row, handoffs to it are refused
 * for a while. Then one probe may pass; when it is completed, the breaker closes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isBatonError, openHub } from "batonpass";

await using hub = await openHub(undefined, { limits: { breakerMs: 2_000 } }); // default: a minute
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder" });
let healthy = false;

for (const task of ["one", "two", "three", "four"]) console.log(task, await tryIt(task));
await show();

await sleep(2_100);
healthy = true;
console.log("five", await tryIt("five")); // the probe
await show();
console.log("six", await tryIt("six"));

async function tryIt(task: string): Promise<string> {
  try {
    const policy = { attempts: 1 };
    const sent = await planner.handoff({ to: "coder", task, intent: "Ship it", policy });
    await using work = await coder.accept();
    if (healthy) await work?.complete();
    else await work?.fail({ message: "The sandbox does not start" });
    return (await sent.status()).state;
  } catch (error) {
    if (isBatonError(error) && error.code === "circuit_open") return error.code;
    throw error;
  }
}

async function show(): Promise<void> {
  const [breaker] = await hub.agents.breakers();
  console.log("the coder's breaker is", breaker?.state ?? "closed");
}
