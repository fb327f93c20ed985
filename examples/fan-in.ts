/**
 * Fan-in: three tasks in parallel, and one handoff that opens when all of them have completed. Its
 * receiver gets their results, and their envelopes as parents.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const writer = await hub.agent("writer", { role: "writer" });
await hub.agent("ann", { role: "scout" });
await hub.agent("bob", { role: "scout" });
const intent = "Which database do we take?";

// All three are sent, or none.
const parts = await planner.handoffMany(
  ["cost", "speed", "licence"].map((task) => ({ to: "role:scout", task, intent })),
);
// The default is need: "all".
const report = await planner.handoffs.join(parts, { to: "writer", task: "report", intent });
console.log("the report is", (await report.status()).state);

await Promise.all([scout("ann"), scout("bob")]);
console.log("the report is", (await report.status()).state);

await using work = await writer.accept();
for (const { task, outputs } of work?.envelope.results ?? []) console.log(`${task}:`, outputs);
await work?.complete({ summary: "PostgreSQL." });

/** Completes all deliveries it can claim from the role's inbox; each goes to one agent. */
async function scout(name: string): Promise<void> {
  const agent = await hub.agent(name);
  for await (const offer of agent.inbox({ wait: false })) {
    await using found = await offer.accept();
    await found.complete({ outputs: { finding: `all about ${found.delivery.task}` } });
  }
}
