/**
 * Closed tasks: nothing more is handed over for one. A task in the queue is closed only while its ledger
 * is as it was seen, and whatever opens work of it leaves a mark there in the same operation: of closing
 * and handing over at the same moment one comes first, and the other is told.
 */
import { BatonError } from "../base/errors.ts";
import { LEDGER, type StoredClosing, storedLedgerOf } from "../memory/stored-ledger.ts";
import type { EntryRow } from "../store/rows.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ResolvedLedger } from "./ledger.ts";

export function refuseClosed({ task, kept }: Pick<ResolvedLedger, "kept" | "task">): void {
  const ending = kept?.closed ?? kept?.ending;
  if (ending !== undefined) throw taskClosed(task, ending);
}

export function taskClosed(
  task: string,
  { as, by, reason }: Pick<StoredClosing, "as" | "by" | "reason">,
): BatonError {
  return new BatonError("task_closed", {
    message: `"${task}" was closed as ${as} by ${by}: ${reason}`,
    path: "task",
    hint: "Begin a task of its own that continues it, or reopen it first.",
    details: { task, as, by, reason },
  });
}

export async function isClosed({ store, name }: Workspace, task: string): Promise<boolean> {
  const entry = await store.findEntry(name, LEDGER, task);
  return entry !== undefined && storedLedgerOf(entry).closed !== undefined;
}

/** Leaves the entry as it is, and says that somebody was here: whoever saw it before must look again. */
export const touchEntry = ({ kind, name, value, revision }: EntryRow): PutEntry => ({
  kind,
  name,
  value,
  basedOn: revision,
});

/** What is written with a move that opens work of a task again. Refused when the task was closed. */
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
