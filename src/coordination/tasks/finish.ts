/**
 * What a process that died has left of the end of a task is finished by whoever looks: a task that is over
 * is closed, one that was being ended is ended, one of which nothing is left but what was given up for good
 * has failed, and one that waits for nothing any more begins.
 */
import { decisionOn, type KeptDecision } from "../../history/failure-decisions.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { followUp } from "../../workspace/follow-up.ts";
import { trunkOf, type Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
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

/** The same of its parts first: one that is over and not closed holds up what it is part of. */
export async function finishedBelow(workspace: Workspace, found: TaskRead): Promise<TaskRead> {
  const children = endOf(found) === undefined ? [] : await childrenOf(workspace, found.task);
  for (const child of await openOf(workspace, children)) {
    const part = await readTask(workspace, child);
    if (part !== undefined) await finishedBelow(workspace, part);
  }
  return finished(workspace, found);
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
  const given = await givenUpIn(workspace, found);
  if (given !== undefined) {
    return async () => {
      const { by, reason, record: causedBy } = given;
      const failed = { as: "failed", by, reason, causedBy } as const;
      await endTask(workspace, await systemAuthor(workspace), task, failed);
    };
  }
  const waiting = parts.filter(waitsForTasks);
  const isFree = waiting.length > 0 && (await openOf(workspace, queue?.after ?? [])).length === 0;
  if (!isFree) return undefined;
  return async () => {
    for (const part of waiting) await workspace.duties.openWaiting(workspace, part);
  };
}

/** The decision that ends it, where nothing of it is left but what was given up. */
async function givenUpIn(
  workspace: Workspace,
  { kept, parts }: TaskRead,
): Promise<KeptDecision | undefined> {
  if (kept.queue === undefined) return undefined;
  const left = parts.filter(({ stand }) => stand !== "over");
  if (left.length === 0 || left.some(({ stand }) => stand !== "given_up")) return undefined;
  const decisions = await Promise.all(
    left.map(({ delivery: { id, attempt } }) => decisionOn(workspace, { delivery: id, attempt })),
  );
  return decisions.includes(undefined) ? undefined : decisions.at(-1);
}
