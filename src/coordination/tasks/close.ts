/**
 * Closes a task by hand as done, failed or cancelled, and cancels a task with everything open in it. Of two
 * concurrent closings one succeeds; the other throws `task_closed` with the agent and the reason of the
 * first.
 */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { refuseClosed, taskClosed } from "../../ledger/closed-tasks.ts";
import { parseTaskName } from "../../ledger/release.ts";
import type { Author } from "../../memory/record.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { isOpen } from "../../store/rows.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { afterClosing } from "./auto-close.ts";
import { childrenOf } from "./edges.ts";
import { endTask } from "./end-task.ts";
import { requireTaskPermission } from "./permissions.ts";
import { filterOpenTasks, requireTask, type TaskSnapshot } from "./read.ts";
import { writeClosing } from "./write-closing.ts";

/** The options of `tasks.close()`. Default of `as`: "done". */
export const CloseSchema = z.strictObject({
  as: z.enum(["done", "failed", "cancelled"]).default("done"),
  reason: Reason,
});
export type CloseOptions = z.input<typeof CloseSchema>;

/**
 * Closes a task. Throws `task_closed` if it is closed, `not_permitted`, and `task_open` while a delivery or a
 * part of it is open.
 */
export async function closeTask(
  workspace: Workspace,
  by: Author,
  name: string,
  options: CloseOptions,
): Promise<void> {
  const task = parseTaskName(name);
  const how = { code: "invalid_input", what: "The closing" } as const;
  const { as, reason } = await redactSecrets(workspace, parseOrThrow(CloseSchema, options, how));
  const trunk = onMainBranch(workspace);
  return retryWrite({ what: `Task "${task}" was changed`, attempts: 50 }, async () => {
    const found = await requireTask(trunk, task);
    refuseClosed(found);
    await requireTaskPermission(trunk, by, found, "closed");
    await refuseOpen(trunk, found);
    const { lastRecord: continues } = found;
    const closing = { as, reason, by: by.agent, author: by, continues };
    if (!(await writeClosing(trunk, found, closing))) return RETRY;
    return afterClosing(trunk, task, found.kept.queue?.parent);
  });
}

async function refuseOpen(workspace: Workspace, { task, parts }: TaskSnapshot): Promise<void> {
  const open = parts.map(({ delivery }) => delivery).filter(({ state }) => isOpen(state));
  const children = await filterOpenTasks(workspace, await childrenOf(workspace, task));
  if (open.length === 0 && children.length === 0) return;
  const what = [
    ...open.map(({ id, state, holder, receiver }) => `${id} (${state}, ${holder || receiver})`),
    ...children.map((child) => `part "${child}"`),
  ];
  throw new BatonError("task_open", {
    message: `Task "${task}" cannot be closed while it has open work: ${what.join(", ")}.`,
    path: "task",
    hint: "Wait until they end, or cancel the task and everything open in it with agent.tasks.cancel().",
    details: {
      task,
      children,
      deliveries: open.map(({ id, state, holder, receiver }) => ({ id, state, holder, receiver })),
    },
  });
}

/**
 * Cancels everything open in a task and its parts, and closes them as cancelled. Throws `task_closed`,
 * `not_permitted`.
 */
export async function cancelTaskTree(
  workspace: Workspace,
  by: Author,
  name: string,
  reason: string,
): Promise<void> {
  const task = parseTaskName(name);
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const { reason: why } = await redactSecrets(workspace, {
    reason: parseOrThrow(Reason, reason, how),
  });
  const found = await requireTask(workspace, task);
  if (found.kept.closed !== undefined) throw taskClosed(task, found.kept.closed);
  await requireTaskPermission(workspace, by, found, "cancelled");
  const closing = await endTask(workspace, by, task, { as: "cancelled", reason: why });
  if (closing.as !== "cancelled" || closing.by !== by.agent) throw taskClosed(task, closing);
}
