/**
 * Refuses new handoffs for closed tasks. A queued task is closed only if its ledger entry is unchanged since
 * it was read, and every operation that opens work of the task rewrites that entry. If a close and a handoff
 * happen at the same time, one commits first and the other one fails its check.
 */
import { BatonError } from "../base/errors.ts";
import { LEDGER, type StoredClosing, storedLedgerOf } from "../memory/stored-ledger.ts";
import type { EntryRow } from "../store/rows.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ResolvedLedger } from "./ledger.ts";

/** Throws `task_closed` if the task is closed or about to be closed. */
export function refuseClosed({ task, kept }: Pick<ResolvedLedger, "kept" | "task">): void {
  const ending = kept?.closed ?? kept?.ending;
  if (ending !== undefined) throw taskClosed(task, ending);
}

/** Builds `task_closed` with the outcome, the agent that closed the task and its reason. */
export function taskClosed(
  task: string,
  { as, by, reason }: Pick<StoredClosing, "as" | "by" | "reason">,
): BatonError {
  return new BatonError("task_closed", {
    message: `"${task}" was closed as ${as} by ${by}: ${reason}`,
    path: "task",
    hint: "Reopen the task first, or start a new task that continues it.",
    details: { task, as, by, reason },
  });
}

/** Returns whether the task is closed. */
export async function isClosed({ store, name }: Workspace, task: string): Promise<boolean> {
  const entry = await store.findEntry(name, LEDGER, task);
  return entry !== undefined && storedLedgerOf(entry).closed !== undefined;
}

/** Rewrites an entry unchanged, so that a concurrent compare-and-set on it fails and is retried. */
export const touchEntry = ({ kind, name, value, revision }: EntryRow): PutEntry => ({
  kind,
  name,
  value,
  basedOn: revision,
});

/**
 * Returns the entries to write together with a move that reopens work of a task. Throws `task_closed` if the
 * task is closed.
 */
export async function entriesForReopening(
  workspace: Workspace,
  task: string,
): Promise<readonly PutEntry[]> {
  const entry = await workspace.store.findEntry(workspace.name, LEDGER, task);
  if (entry === undefined) return [];
  const kept = storedLedgerOf(entry);
  refuseClosed({ task, kept });
  return kept.queue === undefined ? [] : [touchEntry(entry)];
}
