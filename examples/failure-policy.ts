/**
 * Failure policy: a failure is a handoff too. It says what went wrong, what was attempted and what
 * might help, and goes to a coordinator. No agent has that role here, so the hub decides: by a rule
 * for missing types, otherwise by its defaults. The decision is a memory that is related to the
 * failure.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder" });
const architect = await hub.agent("architect", { role: "architect" });

await hub.failures.setRule("missing types", {
  when: { type: "missing_type" },
  then: { reroute: "role:architect" },
  reason: "The architect knows the data and defines its types",
});

await planner.tasks.add({ task: "users-api", to: "coder", intent: "GET /users answers users" });
{
  await using work = await coder.accept();
  await work?.fail({
    type: "missing_type",
    class: "permanent", // a retry would not help
    attempted: "npm run build",
    message: "There is no type User",
    hints: ["Define User in types.ts"],
  });
}
{
  await using work = await architect.accept();
  await work?.complete({ summary: "types.ts has User now, and the endpoint answers it." });
}

for (const { failure, decision } of (await hub.failures.list({ task: "users-api" })).items) {
  console.log(`${failure.by} failed: ${failure.message} (${failure.hints.join("; ")})`);
  console.log(
    `${decision?.by} decided: ${decision?.decision} to ${decision?.to}. ${decision?.reason}`,
  );
}
console.log(`users-api is ${(await hub.tasks.get("users-api")).state}`);

// No rule matches this failure and no other agent can take it: the hub aborts it with a reason.
await planner.tasks.add({ task: "pdf", to: "coder", intent: "All users as a PDF" });
{
  await using work = await coder.accept();
  await work?.decline("There is no library for that here");
}
const { state, closed } = await hub.tasks.get("pdf");
console.log(`pdf is ${state}: ${closed?.reason}`);
