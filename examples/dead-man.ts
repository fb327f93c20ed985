/**
 * Crash recovery: a holder stops responding while it works. The next holder gets the same delivery,
 * with an envelope that the hub reconstructed from the notes of the first.
 */
import { isBatonError, openHub } from "batonpass";

await using hub = await openHub(undefined, { limits: { leaseMs: 2_000 } }); // default: a minute
const planner = await hub.agent("planner", { role: "planner" });
await hub.agent("coder", { role: "coder" });

await planner.handoff({
  to: "coder",
  task: "leak",
  intent: "The service runs for a week without a restart",
  next: ["Find the leak", "Fix it"],
});

// A session lease has no heartbeat: only calls renew it. This session stops after two notes.
const crashing = await hub.agent("coder", undefined, { lease: "session", instance: "terminal-1" });
const lost = await crashing.accept();
await lost?.note("The heap grows by 2 MB for each reconnect.");
await lost?.note("The listener in pool.ts is never removed.");

const next = await hub.agent("coder", undefined, { instance: "terminal-2" });
await using work = await next.accept({ wait: true }); // waits until the lease expires
console.log(
  "attempt",
  work?.delivery.attempt,
  "with",
  work?.envelope.reconstructed?.notes,
  "notes of the crashed session:",
);
for (const { did } of work?.envelope.history ?? []) console.log(` - ${did}`);
await work?.complete({ summary: "Removed the listener on close." });

const late = await lost?.complete({ summary: "Done!" }).catch((error: unknown) => error);
console.log("the crashed session's late answer:", isBatonError(late) && late.code);
