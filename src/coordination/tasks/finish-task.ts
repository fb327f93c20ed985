/**
 * Completes what a crashed process left undone at the end of a task; every operation that reads a task calls
 * it first. It closes a task whose work is done, completes a closing that was interrupted, marks a task as
 * failed if all its deliveries were dead-lettered, and starts a task whose dependencies are done.
 */
import { findDecision, type StoredFailureDecision } from "../../history/failure-decisions.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { closeIfEnded, finalCompletionOf } from "./auto-close.ts";
import { childrenOf } from "./edges.ts";
import { endTask } from "./end-task.ts";
import { filterOpenTasks, readTask, type TaskSnapshot, waitsForTasks } from "./read.ts";

/** Completes the pending step of a task, if any, and returns the task as it is then. */
export async function finishTask(workspace: Workspace, found: TaskSnapshot): Promise<TaskSnapshot> {
  const left =
    found.kept.closed === undefined
      ? await pendingStepOf(onMainBranch(workspace), found)
      : undefined;
  if (left === undefined) return found;
  await runFollowUp(`task ${found.task}`, left);
  return (await readTask(workspace, found.task)) ?? found;
}

/** Does the same for its parts first: a part that has ended and is not closed blocks its parent. */
export async function finishTaskTree(
  workspace: Workspace,
  found: TaskSnapshot,
): Promise<TaskSnapshot> {
  const children =
    finalCompletionOf(found) === undefined ? [] : await childrenOf(workspace, found.task);
  for (const child of await filterOpenTasks(workspace, children)) {
    const part = await readTask(workspace, child);
    if (part !== undefined) await finishTaskTree(workspace, part);
  }
  return finishTask(workspace, found);
}

/** Returns the step that is still to be done; usually undefined. */
async function pendingStepOf(
  workspace: Workspace,
  found: TaskSnapshot,
): Promise<(() => Promise<void>) | undefined> {
  const { task, kept, parts } = found;
  const { ending, queue } = kept;
  if (ending !== undefined) {
    return async () => {
      await endTask(workspace, await systemAuthor(workspace), task, ending);
    };
  }
  if (finalCompletionOf(found) !== undefined) {
    return async () => {
      await closeIfEnded(workspace, task);
    };
  }
  const given = await findEndingDecision(workspace, found);
  if (given !== undefined) {
    return async () => {
      const { by, reason, record: causedBy } = given;
      const failed = { as: "failed", by, reason, causedBy } as const;
      await endTask(workspace, await systemAuthor(workspace), task, failed);
    };
  }
  const waiting = parts.filter(waitsForTasks);
  const isFree =
    waiting.length > 0 && (await filterOpenTasks(workspace, queue?.after ?? [])).length === 0;
  if (!isFree) return undefined;
  return async () => {
    for (const part of waiting) await workspace.duties.openWaiting(workspace, part);
  };
}

/**
 * Returns the decision that ends a task, if only given-up deliveries are left and all of them were decided.
 */
async function findEndingDecision(
  workspace: Workspace,
  { kept, parts }: TaskSnapshot,
): Promise<StoredFailureDecision | undefined> {
  if (kept.queue === undefined) return undefined;
  const left = parts.filter(({ stand }) => stand !== "over");
  if (left.length === 0 || left.some(({ stand }) => stand !== "given_up")) return undefined;
  const decisions = await Promise.all(
    left.map(({ delivery: { id, attempt } }) => findDecision(workspace, { delivery: id, attempt })),
  );
  return decisions.includes(undefined) ? undefined : decisions.at(-1);
}
