/**
 * Ownership checks for agent-level tokens. With the access level "agent" a caller may cancel, answer and
 * redrive only handoffs that it sent, decide only about failures that were reported to it, and quarantine only
 * what it wrote; a coordinator may do so for any agent.
 */
import { hasAccess } from "../../access/levels.ts";
import { requireAccess } from "../../access/refusals.ts";
import type { LocalAgent } from "../../hub/agent.ts";
import type { OperationContext } from "../operation.ts";

/** Throws unless the caller sent the delivery or is a coordinator. */
export async function requireSender(acting: OperationContext, delivery: string): Promise<void> {
  if (mayActForOthers(acting)) return;
  const [{ id }, shown] = await Promise.all([acting.agent(), acting.hub.deliveries.get(delivery)]);
  if (shown.delivery.sender !== id) requireAccess(acting, "coordinator");
}

/** Throws unless the caller has sent or held a delivery of the task, or is a coordinator. */
export async function requireTaskParticipant(
  acting: OperationContext,
  task: string,
): Promise<void> {
  if (mayActForOthers(acting)) return;
  const [{ id }, line] = await Promise.all([acting.agent(), acting.hub.tasks.line(task)]);
  const deliveries = line.flatMap((step) => step.deliveries);
  const hasPart = deliveries.some(({ sender, holder }) => sender === id || holder === id);
  if (!hasPart) requireAccess(acting, "coordinator");
}

/** Throws unless the caller has the report of the failure or is a coordinator. */
export async function requireReportHolder(
  acting: OperationContext,
  failure: string,
): Promise<void> {
  if (mayActForOthers(acting)) return;
  const [{ id }, shown] = await Promise.all([acting.agent(), acting.hub.failures.get(failure)]);
  if (shown.with !== id) requireAccess(acting, "coordinator");
}

/** Returns the acting agent, with the rights that the access level of its token gives. */
export async function agentWithAccess(acting: OperationContext): Promise<LocalAgent> {
  const agent = await acting.agent();
  return mayActForOthers(acting) ? agent.asCoordinator() : agent;
}

const mayActForOthers = ({ access }: OperationContext): boolean => hasAccess(access, "coordinator");
