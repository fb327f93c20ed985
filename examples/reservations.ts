/**
 * Reservations: two agents get work on the same files. The second sees the conflict before it
 * starts, waits, and continues when the first is done. Nothing is blocked, and nothing has to be
 * cleaned up.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder" });
const writer = await hub.agent("writer", { role: "writer" });

await planner.handoff({
  to: "coder",
  task: "validator",
  intent: "Move the validator",
  touches: ["src/auth/**", "db:users"],
});
await planner.handoff({
  to: "writer",
  task: "comments",
  intent: "Explain the login",
  touches: ["src/*/login.ts", "docs/login.md"],
});

const work = await coder.accept(); // reserves what the handoff `touches`
console.log("conflicts of coder:", work?.reservations.conflicts.length);

for await (const offer of writer.inbox({ wait: false })) {
  for (const { agent, globs, with: mine } of await offer.conflicts()) {
    console.log(`${agent} works on ${globs}: take care with ${mine}`);
  }
  await using own = await offer.accept();
  await own.reservations.set("docs/login.md", { note: "First what is not in the way" });
  console.log(
    "reserved:",
    (await hub.tasks.reservations()).items.map(({ agent }) => agent).join(", "),
  );

  await work?.complete({ summary: "Moved." }); // completing ends the reservation
  const { conflicts } = await own.reservations.set();
  console.log("in the way now:", conflicts.length);
  await own.complete({ summary: "Explained." });
}
console.log("reserved:", (await hub.tasks.reservations()).items.length);
