/**
 * Measures the full life cycle of a handoff: 64 in flight, 4 KB payload, through the public
 * interface with all features on (chain, relations, events, index). Each loop sends one handoff and
 * processes one.
 */
import type { Agent } from "../src/index.ts";
import { callersLoop, type Folder, type OpenHub } from "./kit.ts";

const CALLERS = 64;
const PAYLOAD = { type: "patch", data: { diff: "x".repeat(4_000), files: ["src/auth.ts"] } };

/** Runs cycles of four operations: send, claim, accept, complete. Returns cycles per second. */
export function cycles(openHub: OpenHub, folder: Folder, count: number): Promise<number> {
  return measure(openHub, folder, count, async (coder) => {
    for await (const offer of coder.inbox({ wait: false })) {
      const work = await offer.accept();
      await work.complete({ summary: "done" });
      break;
    }
  });
}

/** Runs cycles of three operations: send, claim and accept in one, complete. */
export function fusedCycles(openHub: OpenHub, folder: Folder, count: number): Promise<number> {
  return measure(openHub, folder, count, async (coder) => {
    const work = await coder.accept();
    await work?.complete({ summary: "done" });
  });
}

async function measure(
  openHub: OpenHub,
  folder: Folder,
  count: number,
  work: (coder: Agent) => Promise<void>,
): Promise<number> {
  await using hub = await openHub(`sqlite:${folder.file("hub.db")}`);
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const start = performance.now();
  await callersLoop(CALLERS, count, async (n) => {
    await planner.handoff({
      to: "coder",
      task: `task-${n}`,
      // Every intent is different: an identical one would be reported as a repeat.
      intent: `Refactor auth without breaking mobile logins, part ${n}`,
      next: ["Extract validateToken()"],
      constraints: [{ rule: "Do not touch test fixtures", level: "must" }],
      payload: PAYLOAD,
    });
    await work(coder);
  });
  const elapsed = performance.now() - start;
  const { byState } = await hub.deliveries.totals();
  if (byState.completed !== count) throw new Error(`${byState.completed} of ${count} completed`);
  return (count / elapsed) * 1000;
}
