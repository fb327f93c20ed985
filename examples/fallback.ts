/**
 * Fallback: the first receiver does not accept in time, so the next one gets the work. Any running
 * process carries the policy out: here the sender, which waits, and the backup, which polls its
 * inbox.
 */
import { type Agent, openHub, type Sent, type Work } from "batonpass";

export function askForReview(planner: Agent): Promise<Sent> {
  return planner.handoff({
    to: "reviewer",
    task: "review-17",
    intent: "No unreviewed change goes out",
    policy: {
      acceptMs: 1_000, // accept timeout of each attempt
      attempts: 2,
      backoff: { firstMs: 10, longestMs: 10 },
      fallback: ["backup"],
    },
  });
}

export async function review(work: Work): Promise<void> {
  await work.complete({ summary: "Approved." });
}

if (import.meta.main) {
  await using hub = await openHub();
  const planner = await hub.agent("planner", { role: "planner" });
  await hub.agent("reviewer", { role: "reviewer" }); // registered, but not running
  const backup = await hub.agent("backup", { role: "reviewer" });

  const sent = await askForReview(planner);
  const receiving = backup.accept({ wait: true });
  const answer = await sent.accepted({ timeoutMs: 30_000 });
  console.log(answer.kind, "by", answer.delivery.holder, "at attempt", answer.delivery.attempt);
  await using work = await receiving;
  if (work !== undefined) await review(work);

  for (const { attempt, outcome } of await hub.deliveries.attempts(sent.id)) {
    console.log(`attempt ${attempt}: ${outcome}`);
  }
}
