/**
 * Reopening: the closing is taken off, with a record that says why. What had ended stays so, and does not
 * close the task again; what began because it was done goes on.
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

export async function reopenTask(
  workspace: Workspace,
  by: Author,
  name: string,
  given: string,
): Promise<void> {
  const task = parseTaskName(name);
  const { reason } = await redactSecrets(workspace, { reason: checkReason(given) });
  const trunk = onMainBranch(workspace);
  await retryWrite({ what: `The reopening of "${task}" was overtaken`, attempts: 50 }, async () => {
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

/** How its failures ended was decided when it was closed. */
const givenUpOf = ({ parts, kept }: TaskSnapshot): NonNullable<StoredReopening["givenUp"]> => {
  const now = parts.filter(({ stand }) => stand === "given_up");
  const anew = now.map(({ delivery: { id: delivery, attempt } }) => ({ attempt, delivery }));
  return [...(kept.reopened?.givenUp ?? []), ...anew];
};

/** Nothing is open below a task that is closed: whoever is about to close that one looks again. */
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
    message: `"${task}" is a part of "${parent}", which was closed as ${closed.as} by ${closed.by}.`,
    path: "task",
    hint: `Reopen "${parent}" first.`,
    details: { task, parent, as: closed.as, by: closed.by },
  });
}

function notClosed(task: string): BatonError {
  return new BatonError("task_open", {
    message: `"${task}" is not closed.`,
    path: "task",
    hint: "Hand over what is to be done: it is open.",
    details: { task },
  });
}
