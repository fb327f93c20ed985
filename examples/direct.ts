/**
 * Direct handoff: the sender waits until the receiver has accepted, then for the result. The policy
 * "direct" gives a receiver 15 seconds to accept, three times; then the delivery is a dead letter.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const analyst = await hub.agent("analyst", { role: "analyst" });
const coder = await hub.agent("coder", { role: "coder" });

const receiving = receive();
const sent = await analyst.handoff({
  to: "coder",
  task: "payment-retries",
  intent: "Payments survive an outage of the gateway",
  next: ["Add retries with backoff and jitter"],
  expects: [{ name: "patch", type: "diff", criteria: ["The tests pass"] }],
  policy: "direct",
});

const accepted = await sent.accepted(); // default timeout: 15 s
console.log(accepted.kind, "by", accepted.delivery.holder);

const answer = await sent.completed({ timeoutMs: 30_000 });
if (answer.kind !== "completed") throw new Error(`it was ${answer.kind}`);
console.log("result:", answer.result.summary, answer.result.outputs);
await receiving;

async function receive(): Promise<void> {
  await using work = await coder.accept({ wait: true }); // waits for the next delivery
  await work?.complete({
    summary: "Three attempts, jitter up to 4 s.",
    outputs: { patch: "+ await retry(charge)" },
    criteria: { patch: ["The tests pass"] }, // required: otherwise invalid_result
  });
}
