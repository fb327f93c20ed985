import { openHub } from "batonpass";

await using hub = await openHub(); // .baton/hub.db, or what BATON_STORE names
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

// Here, in another process on the same file, or tomorrow morning:
for await (const offer of coder.inbox({ wait: false })) {
  await using work = await offer.accept(); // under a lease: if this process dies, another gets it
  console.log("next:", work.envelope.next, "rules:", work.envelope.constraints);
  await work.note("validateToken() extracted, 47 of 47 tests pass");
  await work.complete({ summary: "Extracted; the fixtures are untouched." });
}

console.log((await sent.status()).state); // completed
