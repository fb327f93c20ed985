/**
 * Reopens a closed task, with a record that states why. Deliveries that ended stay ended and do not close the
 * task again; tasks that started because it was done continue.
 */

import { BatonError } from "../../base/errors.ts";
import { checkReason } from "../../delivery/settle/reason.ts";
import { parseTaskName } from "../../ledger/release.ts";
import type { Author } from "../../memory/record.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import type { StoredReopening } from "../../memory/stored-ledger.ts";
import type { PutEntry } from "../../store/store.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { requireTaskPermission } from "./permissions.ts";
import { findTaskLedger, lastSettledDelivery, requireTask, type TaskSnapshot } from "./read.ts";
import { writeLedger } from "./write-closing.ts";

/**
 * Reopens a task. Throws `task_open` if it is not closed, `not_permitted`, and `task_closed` if its parent is
 * closed.
 */
export async function reopenTask(
  workspace: Workspace,
  by: Author,
  name: string,
  given: string,
): Promise<void> {
  const task = parseTaskName(name);
  const { reason } = await redactSecrets(workspace, { reason: checkReason(given) });
  const trunk = onMainBranch(workspace);
  await retryWrite({ what: `Task "${task}" was changed`, attempts: 50 }, async () => {
    const found = await requireTask(trunk, task);
    const { closed, ...kept } = found.kept;
    if (closed === undefined) throw notClosed(task);
    await requireTaskPermission(trunk, by, found, "reopened");
    const entries = await openParentGuard(trunk, found);
    const past = lastSettledDelivery(found.parts)?.settledBy ?? "";
    const givenUp = givenUpOf(found);
    const reopened = await writeLedger(trunk, found, {
      author: by,
      content: `${by.agent} reopened "${task}": ${reason}`,
      data: { reason, was: closed.as },
      tags: ["task-reopened"],
      continues: closed.record,
      next: (record, at) => ({
        ...kept,
        reopened: { at, by: by.agent, givenUp, past, reason, record },
      }),
      place: "on",
      entries,
    });
    return reopened || RETRY;
  });
}

/** Returns the failures that were decided by closing the task, including those of earlier closings. */
const givenUpOf = ({ parts, kept }: TaskSnapshot): NonNullable<StoredReopening["givenUp"]> => {
  const now = parts.filter(({ stand }) => stand === "given_up");
  const anew = now.map(({ delivery: { id: delivery, attempt } }) => ({ attempt, delivery }));
  return [...(kept.reopened?.givenUp ?? []), ...anew];
};

/**
 * Throws if the parent is closed, because nothing may be open below a closed task. The returned entry forces
 * a concurrent close of the parent to check again.
 */
async function openParentGuard(
  workspace: Workspace,
  { task, kept }: TaskSnapshot,
): Promise<PutEntry[]> {
  const parent = kept.queue?.parent;
  const above = parent === undefined ? undefined : await findTaskLedger(workspace, parent);
  if (above === undefined) return [];
  const closed = above.kept.closed ?? above.kept.ending;
  if (closed === undefined) return [above.put];
  throw new BatonError("task_closed", {
    message: `Task "${task}" is a part of "${parent}", which ${closed.by} closed as ${closed.as}.`,
    path: "task",
    hint: `Reopen "${parent}" first with agent.tasks.reopen().`,
    details: { task, parent, as: closed.as, by: closed.by },
  });
}

function notClosed(task: string): BatonError {
  return new BatonError("task_open", {
    message: `Task "${task}" is open; only a closed task can be reopened.`,
    path: "task",
    hint: "Send more work for it with agent.handoff().",
    details: { task },
  });
}
