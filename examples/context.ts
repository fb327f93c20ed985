/**
 * Context of a receiver: a primer to paste, a view within its token budget, records on demand. The
 * sender can preview it. Constraints and open decisions stay on the task's ledger until released.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder", model: "gpt-4o", window: 128_000 });

const rule = await planner.remember({ type: "convention", content: "All times are UTC." });
await planner.memories.pin(rule.id); // included in every handoff
const finding = (name: string): Promise<{ id: string }> => {
  const points = Array.from({ length: 30 }, (_, n) => `${name} ${n} reads the token twice.`);
  return planner.remember({ type: "finding", task: "auth", content: points.join(" ") });
};
const audit = await finding("Handler");
await finding("Worker");

const draft = {
  to: "coder",
  task: "auth",
  intent: "Refactor auth without breaking mobile logins",
  next: ["Extract validateToken()"],
  constraints: [{ id: "no-fixtures", rule: "Do not touch the test fixtures" }],
  refs: [{ id: audit.id, summary: "Thirty handlers read the token twice." }],
  budget: { tokens: 210 },
};
const { view: seen } = await planner.handoffs.preview(draft); // does not send
console.log(`${seen.tokens} of ${seen.budget.tokens} tokens, left out: ${seen.omitted.length}`);
for (const { level, section } of seen.shown) console.log(` ${section} as ${level}`);
await planner.handoff(draft);

const work = await coder.accept();
if (work === undefined) throw new Error("The coder's inbox is empty");
console.log(work.primer); // who the agent is, its task, what to do next and what not to redo
const view = await work.view(); // stored, and listed by hub.deliveries.views(work.id)
console.log(view.text);
for (const { id } of view.omitted) {
  console.log("left out:", (await work.read(id, "summary")).text); // or reference, detail, full
}

const next = await work.handoff({ to: "planner", next: ["Look at the patch"] }); // no constraints
console.log("still:", next.envelope.constraints[0]?.rule);
await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason: "They are generated now" });
console.log("released:", (await hub.tasks.ledger("auth"))?.released[0]?.reason);
await (await planner.accept())?.complete({ summary: "Merged." });
