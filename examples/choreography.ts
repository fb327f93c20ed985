/**
 * Choreography without a coordinator: each agent hands off by name or by route, and the hop limit
 * stops a line that would loop forever.
 */
import { type Agent, openHub, type Work } from "batonpass";

await using hub = await openHub(undefined, { limits: { hops: 4 } });
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder" });
const critic = await hub.agent("critic", { role: "critic" });
const publisher = await hub.agent("publisher", { role: "publisher" });

await hub.routes.set("review", { when: { action: "needs_review" }, to: "role:critic" });
await hub.routes.set("rework", { when: { result: "rejected" }, to: "coder" });
await hub.routes.set("release", { when: { result: "approved" }, to: "role:publisher" });

const ended = [
  each(coder, (work) => work.handoff({ action: "needs_review" })),
  each(critic, (work) => work.complete({ outcome: verdictOn(work) })),
  each(publisher, (work) => work.complete({ summary: "Released." })),
];

for (const task of ["fix-login", "never-good-enough"]) {
  const sent = await planner.handoff({ to: "coder", task, intent: "Logins never fail silently" });
  const end = await sent.completed({ line: true, timeoutMs: 30_000 }); // the end of the whole line
  for (const { envelope, deliveries } of await hub.tasks.line(task)) {
    console.log(`hop ${envelope.hop}: ${envelope.from.agent} → ${deliveries[0]?.receiver}`);
  }
  console.log(task, "is", end.kind, "\n");
}
await hub.close();
await Promise.all(ended);

/** Approves "fix-login" in the second round, and never approves the other task. */
function verdictOn({ envelope }: Work): string {
  return envelope.task === "fix-login" && envelope.hop >= 3 ? "approved" : "rejected";
}

async function each(agent: Agent, act: (work: Work) => Promise<unknown>): Promise<void> {
  for await (const offer of agent.inbox()) await act(await offer.accept());
}
