/**
 * Shared context: constraints, conventions, decisions and project facts of the team. Agents read it
 * at the start of a session, filtered by role; coordinators and memory keepers write it, other
 * agents propose changes.
 */
import { isBatonError, openHub } from "batonpass";

await using hub = await openHub();
const lead = await hub.agent("lead", { role: "coordinator" });
const coder = await hub.agent("coder", { role: "coder" });

await lead.context.set({
  section: "constraints",
  key: "no-fixtures",
  level: "must",
  rule: "Do not touch the test fixtures",
  why: "Mobile replays them",
});
await lead.context.decide({
  key: "database",
  question: "Which database do we use?",
  choice: "PostgreSQL",
  reasons: ["The team knows it"],
  rejected: [{ option: "MongoDB", why: "No transactions when we looked" }],
});

const { text } = await coder.context.text({ tokens: 500 }); // filtered for the coder's role
console.log(text);

const names = {
  section: "conventions",
  key: "names",
  rule: "Files are named after verbs",
} as const;
await coder.context.propose(names, { reason: "Half of them are not" }); // to role:coordinator
const work = await lead.accept();
if (work === undefined) throw new Error("The lead's inbox is empty");
console.log((await lead.context.adopt(work)).kind);

const { items: changes } = await coder.context.changes(); // since the coder last read it
for (const { section, key, by } of changes) console.log(`${section}/${key} is new, by ${by}`);

const orders = { key: "orders", question: "Where do orders live?", choice: "MongoDB" };
for (const write of [
  () => lead.context.decide(orders), // conflicts with an active decision
  () => lead.context.set({ section: "conventions", key: "names", rule: "Any name" }), // exists
]) {
  await write().catch((error: unknown) => {
    if (!isBatonError(error)) throw error;
    console.log(`${error.code}: ${error.message}`);
  });
}
await lead.context.decide({ ...orders, supersedes: "database" }); // replaces that decision
console.log(
  (await hub.context.history("decisions", "database")).items.map(({ kind }) => kind).join(", "),
);
