/**
 * Closes tasks that close themselves: when the last open delivery of a task completes and no part of it is
 * open, the task is done, with the summary of its last holder as the reason. Then its parent may be done, and
 * tasks that waited for either start. The process that completes the delivery does this; if it dies in
 * between, the next reader does: a task that waits for this one, a board, or a call that reads its state.
 */

import { memoryOf } from "../../memory/record.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { RETRY, tryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
import { closingOf, lastSettledDelivery, readTask, type TaskSnapshot } from "./read.ts";
import { openDependents, writeClosing } from "./write-closing.ts";

/** Follow-up of every settled delivery: closes its task if that has ended. */
export async function onDeliveryEnded(workspace: Workspace, { task }: DeliveryRow): Promise<void> {
  await closeIfEnded(onMainBranch(workspace), task);
}

/** Closes a task if it has ended. Returns true if this call closed it. */
export async function closeIfEnded(workspace: Workspace, task: string): Promise<boolean> {
  const closed = await tryWrite(async () => {
    const found = await readTask(workspace, task);
    const outcome = found === undefined ? "stays" : await closeEnded(workspace, found);
    if (outcome === "stays") return false;
    if (outcome === "changed") return RETRY;
    await afterClosing(workspace, task, found?.kept.queue?.parent);
    return true;
  });
  return closed === true; // It keeps changing, so it has not ended.
}

/** Opens the tasks that waited for a closed task, and closes its parent if that has ended. */
export async function afterClosing(
  workspace: Workspace,
  task: string,
  parent: string | undefined,
): Promise<void> {
  await openDependents(workspace, task);
  if (parent === undefined) return;
  await runFollowUp(`parent of ${task}`, async () => {
    await closeIfEnded(workspace, parent);
  });
}

async function closeEnded(
  workspace: Workspace,
  found: TaskSnapshot,
): Promise<"closed" | "changed" | "stays"> {
  const { task } = found;
  const last = finalCompletionOf(found);
  if (last === undefined) return "stays";
  const children = await childrenOf(workspace, task);
  const closings = await Promise.all(children.map((child) => closingOf(workspace, child)));
  if (closings.includes(undefined)) return "stays";
  const failed = children.filter((_, i) => closings[i]?.as === "failed");
  const without = failed.length === 0 ? "" : ` (without ${failed.join(", ")}, which failed)`;
  const closed = await writeClosing(workspace, found, {
    as: "done",
    by: last.holder,
    reason: `${await summaryOf(workspace, last)}${without}`,
    author: await systemAuthor(workspace),
    continues: last.settledBy,
    repeats: last.settledBy,
  });
  return closed ? "closed" : "changed";
}

/**
 * Returns the completion that ends a task; undefined while it has not ended, or if an agent has to close it.
 */
export function finalCompletionOf({ parts, kept }: TaskSnapshot): DeliveryRow | undefined {
  const isOthers = (kept.closed ?? kept.ending) !== undefined;
  if (kept.queue?.closing !== "automatic" || isOthers) return undefined;
  const isOver = parts.every(({ delivery, stand }) => !isOpen(delivery.state) && stand === "over");
  const last = isOver ? lastSettledDelivery(parts) : undefined;
  if (last?.state !== "completed" || last.settledBy === kept.reopened?.past) return undefined;
  return last;
}

async function summaryOf({ store, name }: Workspace, last: DeliveryRow): Promise<string> {
  const [row] = await store.readMemories(name, [last.settledBy]);
  // A redacted record has no content.
  return (row && memoryOf(row).content) || `${last.holder} completed the task.`;
}
