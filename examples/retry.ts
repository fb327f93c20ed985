/** Retry: a retryable failure is retried with backoff and jitter. The third attempt succeeds. */
import { type Agent, openHub, type Sent, type Work } from "batonpass";

export function order(planner: Agent): Promise<Sent> {
  return planner.handoff({
    to: "deployer",
    task: "deploy-42",
    intent: "Version 42 is live",
    policy: { attempts: 3, backoff: { firstMs: 20, longestMs: 80 } }, // default: 1 s, up to 30 s
  });
}

/** The deployer's handler: fails twice, then succeeds. */
export async function deploy(work: Work): Promise<void> {
  if (work.delivery.attempt === 3) await work.complete({ summary: "Live." });
  else await work.fail({ message: "The registry answers 503", attempted: "docker push" });
}

if (import.meta.main) {
  await using hub = await openHub();
  const planner = await hub.agent("planner", { role: "planner" });
  const deployer = await hub.agent("deployer", { role: "deployer" });
  const sent = await order(planner);

  for await (const offer of deployer.inbox()) {
    await using work = await offer.accept();
    await deploy(work);
    if ((await sent.status()).state === "completed") break;
  }

  for (const { attempt, outcome, reason } of await hub.deliveries.attempts(sent.id)) {
    console.log(`attempt ${attempt}: ${outcome}, ${reason.message}`);
  }
  const { state, attempt } = await sent.status();
  console.log(`attempt ${attempt}: ${state}`);
}
