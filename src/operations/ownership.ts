/**
 * Whose something is, for callers who may see to their own only: with the access of an agent one takes back,
 * answers and tries again what one sent oneself, and decides about what one was asked to; a coordinator,
 * about anybody's.
 */
import { hasAccess } from "../access/levels.ts";
import { requireAccess } from "../access/refusals.ts";
import type { OperationContext } from "./operation.ts";

/** Throws where a delivery was sent by another, and the caller may see to its own only. */
export async function requireSender(acting: OperationContext, delivery: string): Promise<void> {
  if (mayActForOthers(acting)) return;
  const [{ id }, shown] = await Promise.all([acting.agent(), acting.hub.deliveries.get(delivery)]);
  if (shown.delivery.sender !== id) requireAccess(acting, "coordinator");
}

/** The same of a task: whoever has sent or held something of it has a part in it. */
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

/** The same of a failure: whoever has its report was asked to decide about it. */
export async function requireReportHolder(
  acting: OperationContext,
  failure: string,
): Promise<void> {
  if (mayActForOthers(acting)) return;
  const [{ id }, shown] = await Promise.all([acting.agent(), acting.hub.failures.get(failure)]);
  if (shown.with !== id) requireAccess(acting, "coordinator");
}

const mayActForOthers = ({ access }: OperationContext): boolean => hasAccess(access, "coordinator");
