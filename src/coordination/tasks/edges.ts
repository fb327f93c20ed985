/**
 * What is kept of the queue besides the ledgers: which tasks are in it and not closed, whose part each
 * is, and who waits for whom. Entries that are written with the handoff that adds a task, or not at all.
 */
import { canonicalJson } from "../../base/digest.ts";
import type { PutEntry } from "../../store/store.ts";
import { entriesOf } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** A task that is in the queue and not closed; its name is the task's. */
export const TASK = "task";
/** Named `["parent","child"]`. */
export const SUBTASK = "subtask";
/** Named `["dependency","task"]`. */
export const DEPENDENT = "dependent";
/** One for all: of two tasks that could come to wait for each other, the second looks again. */
export const TASK_ORDER = { kind: "task-order", name: "all" } as const;

/** An entry that says all by being there. */
export const newEntry = (kind: string, name: string): PutEntry => ({
  kind,
  name,
  value: "{}",
  basedOn: 0,
});

export const pairOf = (first: string, second: string): string =>
  canonicalJson([first, second], "invalid_input");

/** Tasks that are part of this one, in the order of their names. */
export const childrenOf = (workspace: Workspace, task: string): Promise<string[]> =>
  listPairedTasks(workspace, SUBTASK, task);

/** Tasks that wait for this one, or have. */
export const dependentsOf = (workspace: Workspace, task: string): Promise<string[]> =>
  listPairedTasks(workspace, DEPENDENT, task);

async function listPairedTasks(
  workspace: Workspace,
  kind: string,
  first: string,
): Promise<string[]> {
  const seconds: string[] = [];
  const prefix = `${canonicalJson([first], "invalid_input").slice(0, -1)},`;
  for await (const { name } of entriesOf(workspace, kind, prefix)) {
    seconds.push((JSON.parse(name) as [string, string])[1]);
  }
  return seconds;
}
