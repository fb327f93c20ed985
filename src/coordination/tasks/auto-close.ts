/**
 * A task that closes itself: when its last open delivery completes and no part of it is open, it is done,
 * for the reason its last holder gave. Then its parent may be done, and what waited for either begins.
 * Whoever completes the delivery sees to it; if that process dies in between, whoever looks does: a task
 * that waits for this one, a board, anybody who asks how it stands.
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

/** The duty of whoever ends a delivery: its task may be over with it. */
export async function onDeliveryEnded(workspace: Workspace, { task }: DeliveryRow): Promise<void> {
  await closeIfEnded(onMainBranch(workspace), task);
}

/** True: it was closed by this. */
export async function closeIfEnded(workspace: Workspace, task: string): Promise<boolean> {
  const closed = await tryWrite(async () => {
    const found = await readTask(workspace, task);
    const outcome = found === undefined ? "stays" : await closeEnded(workspace, found);
    if (outcome === "stays") return false;
    if (outcome === "changed") return RETRY;
    await afterClosing(workspace, task, found?.kept.queue?.parent);
    return true;
  });
  return closed === true; // It is in constant change, so it is not over.
}

/** Those who waited for it, and its parent. */
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

/** The completion that ends it; undefined while it is not over, or is to be closed by somebody. */
export function finalCompletionOf({ parts, kept }: TaskSnapshot): DeliveryRow | undefined {
  const isOthers = (kept.closed ?? kept.ending) !== undefined;
  if (kept.queue?.closing !== "itself" || isOthers) return undefined;
  const isOver = parts.every(({ delivery, stand }) => !isOpen(delivery.state) && stand === "over");
  const last = isOver ? lastSettledDelivery(parts) : undefined;
  if (last?.state !== "completed" || last.settledBy === kept.reopened?.past) return undefined;
  return last;
}

async function summaryOf({ store, name }: Workspace, last: DeliveryRow): Promise<string> {
  const [row] = await store.readMemories(name, [last.settledBy]);
  // Where that was redacted, there is none.
  return (row && memoryOf(row).content) || `${last.holder} completed it.`;
}
