/** Finds the tasks that a queued task waits for: those it was added after that are not done yet. */
import type { Envelope } from "../envelope/schema.ts";
import { LEDGER, storedLedgerOf } from "../memory/stored-ledger.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ResolvedLedger } from "./ledger.ts";

/**
 * Returns the tasks that must be done before this one starts; all of them until every one is done. Empty if
 * the sender already holds work of the task, because a task that has started is not held up again.
 */
export async function openDependencies(
  { store, name }: Workspace,
  { work }: { readonly work?: { readonly envelope: Pick<Envelope, "task"> } },
  { kept, task }: Pick<ResolvedLedger, "kept" | "task">,
): Promise<readonly string[]> {
  const after = kept?.queue?.after ?? [];
  if (after.length === 0 || work?.envelope.task === task) return [];
  const found = await Promise.all(after.map((each) => store.findEntry(name, LEDGER, each)));
  const isDone = found.every((entry) => entry && storedLedgerOf(entry).closed?.as === "done");
  return isDone ? [] : after;
}
