/**
 * Fallback: the first receiver does not answer in time, so the next in line gets the work. Whoever is
 * alive carries that out: here the sender, which waits, and the backup, which listens.
 */
import { type Agent, openHub, type Sent, type Work } from "batonpass";

export function askForReview(planner: Agent): Promise<Sent> {
  return planner.handoff({
    to: "reviewer",
    task: "review-17",
    intent: "No unreviewed change goes out",
    policy: {
      acceptMs: 1_000, // how long an attempt waits to be accepted
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
  await hub.agent("reviewer", { role: "reviewer" }); // registered, and asleep
  const backup = await hub.agent("backup", { role: "reviewer" });

  const sent = await askForReview(planner);
  const receiving = backup.accept({ wait: true });
  const heard = await sent.accepted({ timeoutMs: 30_000 });
  console.log(heard.kind, "by", heard.delivery.holder, "at try", heard.delivery.attempt);
  await using work = await receiving;
  if (work !== undefined) await review(work);

  for (const { attempt, outcome } of await hub.deliveries.attempts(sent.id)) {
    console.log(`try ${attempt}: ${outcome}`);
  }
}
