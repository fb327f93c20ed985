/**
 * Closing by hand: a task with nothing open is said to be done, failed or cancelled, and why. Of two who
 * close it, one does; the other is told who did, and why.
 */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { parseOr } from "../../envelope/violations.ts";
import { refuseClosed, taskClosed } from "../../ledger/closed.ts";
import { taskName } from "../../ledger/release.ts";
import type { Author } from "../../memory/record.ts";
import { heard } from "../../memory/redaction/secret-policy.ts";
import { isOpen } from "../../store/rows.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { trunkOf, type Workspace } from "../../workspace/workspace.ts";
import { writeClosing } from "./closing.ts";
import { childrenOf } from "./edges.ts";
import { endTask } from "./end.ts";
import { afterClosing } from "./ended.ts";
import { openOf, requireTask, type TaskRead } from "./read.ts";
import { requireRight } from "./rights.ts";

export const CloseSchema = z.strictObject({
  as: z.enum(["done", "failed", "cancelled"]).default("done"),
  reason: Reason,
});
export type CloseOptions = z.input<typeof CloseSchema>;

export async function closeTask(
  workspace: Workspace,
  by: Author,
  name: string,
  options: CloseOptions,
): Promise<void> {
  const task = taskName(name);
  const how = { code: "invalid_input", what: "The closing" } as const;
  const { as, reason } = await heard(workspace, parseOr(CloseSchema, options, how));
  const trunk = trunkOf(workspace);
  return retryWrite({ what: `The closing of "${task}" was overtaken`, attempts: 50 }, async () => {
    const found = await requireTask(trunk, task);
    refuseClosed(found);
    await requireRight(trunk, by, found, "closed");
    await refuseOpen(trunk, found);
    const { lastRecord: continues } = found;
    const closing = { as, reason, by: by.agent, author: by, continues };
    if (!(await writeClosing(trunk, found, closing))) return RETRY;
    return afterClosing(trunk, task, found.kept.queue?.parent);
  });
}

async function refuseOpen(workspace: Workspace, { task, parts }: TaskRead): Promise<void> {
  const open = parts.map(({ delivery }) => delivery).filter(({ state }) => isOpen(state));
  const children = await openOf(workspace, await childrenOf(workspace, task));
  if (open.length === 0 && children.length === 0) return;
  const what = [
    ...open.map(({ id, state, holder, receiver }) => `${id} (${state}, ${holder || receiver})`),
    ...children.map((child) => `its part "${child}"`),
  ];
  throw new BatonError("task_open", {
    message: `"${task}" cannot be closed: open is ${what.join(", ")}.`,
    path: "task",
    hint: "Let them end, or cancel the task: that takes back all of it.",
    details: {
      task,
      children,
      deliveries: open.map(({ id, state, holder, receiver }) => ({ id, state, holder, receiver })),
    },
  });
}

/** Takes back everything open of a task and of its parts, and closes them as cancelled. */
export async function cancelWhole(
  workspace: Workspace,
  by: Author,
  name: string,
  reason: string,
): Promise<void> {
  const task = taskName(name);
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const { reason: why } = await heard(workspace, { reason: parseOr(Reason, reason, how) });
  const found = await requireTask(workspace, task);
  if (found.kept.closed !== undefined) throw taskClosed(task, found.kept.closed);
  await requireRight(workspace, by, found, "cancelled");
  const closing = await endTask(workspace, by, task, { as: "cancelled", reason: why });
  if (closing.as !== "cancelled" || closing.by !== by.agent) throw taskClosed(task, closing);
}
