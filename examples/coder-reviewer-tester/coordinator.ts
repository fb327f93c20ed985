/**
 * The coordinator: splits the feature into tasks, adopts proposals for the shared context, and
 * decides about failures. It keeps no state of its own: another coordinator finds everything in the
 * store.
 */
import type { Work } from "batonpass";
import { MISSING_DEPENDENCY } from "./messages.ts";
import type { Desk, Player } from "./player.ts";
import { DECLARATIONS, HANDLER, TEST } from "./sources.ts";

const ROUTE = "GET /users/:id";

export const coordinator: Player = async (work, desk) => {
  if (work.envelope.failure !== undefined) return decide(work, desk);
  if (work.envelope.payload?.type === "context-change") {
    await desk.agent.context.adopt(work);
    return;
  }
  return split(work, desk);
};

/** Adds the tasks to the queue; a task that waits for others opens when they are done. */
async function split(work: Work, { agent, say }: Desk): Promise<void> {
  const parent = work.delivery.task;
  await agent.tasks.add({
    task: `${parent}/endpoint`,
    parent,
    to: "role:coder",
    intent: `${ROUTE} answers a user as JSON`,
    touches: [HANDLER, TEST],
    payload: say.job.of({ make: "endpoint", route: ROUTE, files: [HANDLER, TEST] }),
  });
  await agent.tasks.add({
    task: `${parent}/types`,
    parent,
    to: "role:coder",
    intent: `Types for callers of ${ROUTE}`,
    payload: say.job.of({ make: "types", route: ROUTE, files: [DECLARATIONS] }),
  });
  await agent.tasks.add({
    task: `${parent}/export`,
    parent,
    to: "role:coder",
    intent: "All users as a PDF",
    payload: say.job.of({ make: "export", route: "GET /users.pdf", files: ["api/export.js"] }),
  });
  await agent.tasks.add({
    task: `${parent}/docs`,
    parent,
    after: [`${parent}/endpoint`, `${parent}/types`],
    to: "role:coder",
    intent: `README.md says what ${ROUTE} answers`,
    payload: say.job.of({ make: "docs", route: ROUTE, files: ["README.md"] }),
  });
  await work.complete({ summary: "Split into four tasks." });
}

/** Decides by a matching failure rule, else by a constraint, else as the hub advises. */
async function decide(work: Work, { agent }: Desk): Promise<void> {
  const { advice, failure } = await agent.failures.get(work.id);
  const isRuled = advice?.source.startsWith("rule ") ?? false;
  if (failure.type === MISSING_DEPENDENCY && !isRuled) {
    const must = await agent.context.item("constraints", "no-dependencies");
    const rule = must?.section === "constraints" ? must.rule : "it was retired: ask again";
    const reason = `constraints/no-dependencies: ${rule}`;
    await agent.failures.decide(work, { decision: "abort", reason });
  } else if (advice !== undefined) {
    const reason = `By the ${advice.source}: ${advice.decision.reason}`;
    await agent.failures.decide(work, { ...advice.decision, reason });
  }
}
