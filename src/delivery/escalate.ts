/** Telling the coordinator, where there is one: a line has stopped, and somebody should know why. */
import { addressOf, type Envelope } from "../envelope/schema.ts";
import { SYSTEM } from "../memory/agents.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import { sendHandoff } from "./send.ts";
import { systemAuthor } from "./system.ts";

const COORDINATOR = "coordinator";

/**
 * Sends the coordinator what happened. Without one nothing is sent: dead letters and events show it
 * all the same. News of news is not sent.
 */
export async function escalate(
  workspace: Workspace,
  envelope: Envelope,
  { delivery, reason }: { readonly delivery: DeliveryRow; readonly reason: string },
): Promise<void> {
  if (envelope.from.agent === SYSTEM) return;
  const agents = await workspace.store.listAgents(workspace.name);
  const coordinated = agents.some(
    ({ role, status }) => role === COORDINATOR && status !== "disabled",
  );
  if (!coordinated) return;
  const author = await systemAuthor(workspace);
  await sendHandoff(
    workspace,
    { ...author, role: "" },
    {
      to: `role:${COORDINATOR}`,
      task: `escalated/${delivery.id}`, // Of its own: two that failed are two decisions.
      action: "escalated",
      intent: envelope.intent,
      state: `${envelope.from.agent} → ${addressOf(envelope.to)}: ${reason}`,
      next: [`Decide about ${delivery.id}: redrive it, discard it, or hand the task to another.`],
      parents: [envelope.id],
      // What it only should do is for who has the work: news must not fail for want of room.
      constraints: envelope.constraints.filter(({ level }) => level === "must"),
      decisions: envelope.decisions,
      policy: {},
    },
    { passesOn: envelope },
  );
}
