/**
 * Human approval: a person receives a handoff like an agent, with reminders and a deadline. She
 * asks one question, then approves; the agent continues only after her approval.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const deployer = await hub.agent("deployer", { role: "deployer" });
const maria = await hub.agent("maria", { role: "approver", kind: "person" });

const request = await deployer.handoff({
  to: "role:approver",
  task: "release-42",
  action: "needs_input",
  intent: "Version 42 goes live on Friday",
  next: ["Approve or reject the release"],
  expects: [{ name: "approval", type: "approval" }],
  policy: { remindMs: 60_000, deadlineMs: 86_400_000, exhausted: "escalate" },
});

// Maria, at any time. On the command line: baton inbox maria, baton accept, baton clarify
for (const { envelope } of (await maria.deliveries.waiting()).items)
  console.log("maria sees:", envelope.next);
const work = await maria.accept();
await work?.clarify("Is there a way back?");

for (const { delivery, question } of await deployer.questions.list()) {
  console.log("maria asks:", question);
  await deployer.questions.answer(delivery.id, "Yes, version 41 stays up until Monday.");
}

// Accepts and completes in one step, like baton approve dlv_…; also: reject(), reply(), edit()
for (const { delivery, envelope } of (await maria.deliveries.waiting()).items) {
  console.log("maria reads:", envelope.history.at(-1)?.decided);
  await maria.approvals.approve(delivery.id, { comment: "Go, but not before 10." });
}

const answer = await request.completed({ timeoutMs: 30_000 });
if (answer.kind === "completed") console.log(answer.result.outputs, answer.result.summary);
