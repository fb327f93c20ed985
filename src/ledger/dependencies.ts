/** What a task in the queue waits for: the tasks it was added after that are not done yet. */
import type { Sender } from "../delivery/send/plan.ts";
import { keptLedger, LEDGER } from "../memory/ledger.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Family } from "./ledger.ts";

/** Empty of a task that has begun: whoever holds work of it hands it on. */
export async function openDependencies(
  { store, name }: Workspace,
  { work }: Pick<Sender, "work">,
  { kept, task }: Pick<Family, "kept" | "task">,
): Promise<readonly string[]> {
  const after = kept?.queue?.after ?? [];
  if (after.length === 0 || work?.envelope.task === task) return [];
  const found = await Promise.all(after.map((each) => store.findEntry(name, LEDGER, each)));
  const isDone = found.every((entry) => entry && keptLedger(entry).closed?.as === "done");
  return isDone ? [] : after;
}
