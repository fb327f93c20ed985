/**
 * Store entries of the task queue beside the ledgers: which tasks are open, which task each is part of, and
 * which tasks wait for which. They are written in the same operation as the handoff that adds a task.
 */
import { canonicalJson } from "../../base/digest.ts";
import type { PutEntry } from "../../store/store.ts";
import { entriesOf } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The entry kind of a queued task that is not closed; the entry name is the name of the task. */
export const TASK = "task";
/** The entry kind of a part; the entry name is `["parent","child"]`. */
export const SUBTASK = "subtask";
/** The entry kind of a dependency; the entry name is `["dependency","task"]`. */
export const DEPENDENT = "dependent";
/**
 * One entry for the workspace: of two concurrent additions that could create a cycle, the second checks
 * again.
 */
export const TASK_ORDER = { kind: "task-order", name: "all" } as const;

/** Returns a new entry without a value; its existence is the information. */
export const newEntry = (kind: string, name: string): PutEntry => ({
  kind,
  name,
  value: "{}",
  basedOn: 0,
});

/** Returns the entry name of a pair of tasks. */
export const pairOf = (first: string, second: string): string =>
  canonicalJson([first, second], "invalid_input");

/** Returns the parts of a task, in the order of their names. */
export const childrenOf = (workspace: Workspace, task: string): Promise<string[]> =>
  listPairedTasks(workspace, SUBTASK, task);

/** Returns the tasks that wait for a task, or have waited for it. */
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
