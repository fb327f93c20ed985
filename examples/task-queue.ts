/**
 * Task queue: a feature with three parts, one of which waits for the other two. Agents with the
 * role claim ready tasks; the last part opens automatically, and the feature is done when all parts
 * are.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const lead = await hub.agent("lead", { role: "lead" });
await hub.agent("ann", { role: "coder" });
await hub.agent("bob", { role: "coder" });

await lead.tasks.add({ task: "users", to: "lead", intent: "Users can be read and exported" });
const part = { parent: "users", to: "role:coder" };
await lead.tasks.add({ ...part, task: "api", intent: "GET /users", priority: "high" });
await lead.tasks.add({ ...part, task: "export", intent: "All users as CSV" });
await lead.tasks.add({ ...part, task: "docs", intent: "Say how", after: ["api", "export"] });
await using split = await lead.accept();
await split?.complete({ summary: "Split into api, export, and docs when both are done" });

await show();
await Promise.all([code("ann"), code("bob")]); // Each agent claims another task.
await show();
await code("bob");
console.log((await hub.tasks.get("users")).why);

/** Completes the first ready task for coders. */
async function code(name: string): Promise<void> {
  const coder = await hub.agent(name);
  await using work = await coder.accept();
  const known = work?.envelope.results?.map(({ task, summary }) => `${task} (${summary})`) ?? [];
  const from = known.length === 0 ? "" : `, from ${known.join(" and ")}`;
  await work?.complete({ summary: `wrote ${work.delivery.task}${from}` });
}

async function show(): Promise<void> {
  const { parts } = await hub.tasks.tree("users");
  for (const { task, state, why } of parts) console.log(`${task}: ${state}, ${why}`);
}
