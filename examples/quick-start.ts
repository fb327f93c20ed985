import { openHub } from "batonpass";

await using hub = await openHub(); // default: .baton/hub.db, or BATON_STORE
const planner = await hub.agent("planner", { role: "planner" });
const coder = await hub.agent("coder", { role: "coder" });

const plan = await planner.remember({ type: "plan", content: "Extract validateToken() first." });

const sent = await planner.handoff({
  to: "coder",
  task: "auth-refactor",
  intent: "Refactor auth without breaking mobile logins",
  next: ["Extract validateToken()"],
  constraints: ["Do not touch the test fixtures"],
  doNotRedo: ["Choosing a JWT library: jose is settled"],
  refs: [plan.id],
});

// In this process or another one on the same store, now or tomorrow:
for await (const offer of coder.inbox({ wait: false })) {
  await using work = await offer.accept(); // leased: if this process dies, the work is redelivered
  console.log("next:", work.envelope.next, "rules:", work.envelope.constraints);
  await work.note("validateToken() extracted, 47 of 47 tests pass");
  await work.complete({ summary: "Extracted; the fixtures are untouched." });
}

console.log((await sent.status()).state); // completed
