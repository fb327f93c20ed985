/**
 * Retry: a failure that may pass is tried again, after a pause that grows and has jitter. Here the
 * third try succeeds.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const deployer = await hub.agent("deployer", { role: "deployer" });

const sent = await planner.handoff({
  to: "deployer",
  task: "deploy-42",
  intent: "Version 42 is live",
  policy: { attempts: 3, backoff: { firstMs: 20, longestMs: 80 } }, // unless told: 1 s, up to 30 s
});

for await (const offer of deployer.inbox()) {
  await using work = await offer.accept();
  if (work.attempt === 3) {
    await work.complete({ summary: "Live." });
    break;
  }
  await work.fail({ message: "The registry answers 503", attempted: "docker push" });
}

for (const { attempt, outcome, reason } of await hub.attempts(sent.id)) {
  console.log(`try ${attempt}: ${outcome}, ${JSON.parse(reason).message}`);
}
const { state, attempt } = await sent.status();
console.log(`try ${attempt}: ${state}`);
