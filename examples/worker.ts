/**
 * Worker: a loop that reviews up to four files at a time. What the handler returns completes the work; what it
 * throws fails the attempt, and the policy decides about the next one.
 */
import { openHub, type Work } from "batonpass";

async function review(work: Work): Promise<string> {
  const { delivery, envelope } = work;
  if (envelope.task === "db.ts" && delivery.attempt === 1)
    throw new Error("The model is overloaded");
  return `${envelope.task} is fine`;
}

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const reviewer = await hub.agent("reviewer", { role: "reviewer" });

const stop = new AbortController();
const working = reviewer.work(review, { concurrency: 4, signal: stop.signal });

const policy = { backoff: { firstMs: 20, longestMs: 80 } }; // default: 1 s, up to 30 s
const files = ["api.ts", "auth.ts", "db.ts", "jobs.ts", "mail.ts"];
const sent = await planner.handoffMany(
  files.map((task) => ({ to: "reviewer", task, intent: `Review ${task}`, policy })),
);
for (const each of sent) {
  const outcome = await each.completed();
  if (outcome.kind === "completed") console.log(outcome.result?.summary);
}

stop.abort(); // Nothing more is claimed, and running handlers finish.
const { completed, failed } = await working;
console.log(`${completed} completed, ${failed} failed attempt`);
