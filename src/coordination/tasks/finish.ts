/**
 * What a process that died has left of the end of a task is finished by whoever looks: a task that is over
 * is closed, one that was being ended is ended, and one that waits for nothing any more begins.
 */
import { followUp } from "../../delivery/follow-up.ts";
import { systemAuthor } from "../../delivery/system.ts";
import { trunkOf, type Workspace } from "../../store/workspace.ts";
import { endTask } from "./end.ts";
import { closeIfEnded, endOf } from "./ended.ts";
import { openOf, readTask, type TaskRead, waitsForTasks } from "./read.ts";

/** The task as it is then. */
export async function finished(workspace: Workspace, found: TaskRead): Promise<TaskRead> {
  const left =
    found.kept.closed === undefined ? await leftOf(trunkOf(workspace), found) : undefined;
  if (left === undefined) return found;
  await followUp(`task ${found.task}`, left);
  return (await readTask(workspace, found.task)) ?? found;
}

/** What is still to be done about it; nothing, as a rule. */
async function leftOf(
  workspace: Workspace,
  found: TaskRead,
): Promise<(() => Promise<void>) | undefined> {
  const { task, kept, parts } = found;
  const { ending, queue } = kept;
  if (ending !== undefined) {
    return async () => {
      await endTask(workspace, await systemAuthor(workspace), task, ending);
    };
  }
  if (endOf(found) !== undefined) {
    return async () => {
      await closeIfEnded(workspace, task);
    };
  }
  const waiting = parts.filter(waitsForTasks);
  const isFree = waiting.length > 0 && (await openOf(workspace, queue?.after ?? [])).length === 0;
  if (!isFree) return undefined;
  return async () => {
    for (const part of waiting) await workspace.duties.openWaiting(workspace, part);
  };
}
