/**
 * What a receiver starts from: a primer to paste, a view within its token budget, records on demand. The
 * sender previews it. Constraints and open decisions stay on the task's ledger until they are released.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder", model: "gpt-4o", window: 128_000 });

const rule = await planner.remember({ type: "convention", content: "All times are UTC." });
await planner.memories.pin(rule.id); // travels with every handoff
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
const { view: seen } = await planner.handoffs.preview(draft); // sends nothing
console.log(`${seen.tokens} of ${seen.budget.tokens} tokens, left out: ${seen.omitted.length}`);
for (const { level, section } of seen.shown) console.log(` ${section} as ${level}`);
await planner.handoff(draft);

const work = await coder.accept();
if (work === undefined) throw new Error("nothing waits for the coder");
console.log(work.primer); // who am I, which task and why, what now, what not again
const view = await work.view(); // stored: hub.deliveries.views(work.id) shows later who saw what
console.log(view.text);
for (const { id } of view.omitted) {
  console.log("left out:", (await work.read(id, "summary")).text); // or reference, detail, full
}

const next = await work.handoff({ to: "planner", next: ["Look at the patch"] }); // says no rules
console.log("still:", next.envelope.constraints[0]?.rule);
await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason: "They are generated now" });
console.log("released:", (await hub.tasks.ledger("auth"))?.released[0]?.reason);
await (await planner.accept())?.complete({ summary: "Merged." });
