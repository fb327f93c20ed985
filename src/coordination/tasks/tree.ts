/** Reads a task with its parts, recursively: open and closed, in the order they were added. */
import { checkLimit } from "../../base/limits.ts";
import { parseTaskName } from "../../ledger/release.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
import { getTask, type TaskInfo } from "./info.ts";

/** A task with its parts. */
export interface TaskTree extends TaskInfo {
  readonly parts: readonly TaskTree[];
}

/** Returns the tree of a task. At most `limits.taskTree` tasks. Throws `unknown_task`. */
export async function taskTree(workspace: Workspace, name: string): Promise<TaskTree> {
  return buildTree(workspace, parseTaskName(name), new Set());
}

async function buildTree(workspace: Workspace, task: string, seen: Set<string>): Promise<TaskTree> {
  seen.add(task);
  checkLimit(workspace.limits, "taskTree", { actual: seen.size, path: "task" });
  const parts: TaskTree[] = [];
  for (const child of await childrenOf(workspace, task)) {
    if (!seen.has(child)) parts.push(await buildTree(workspace, child, seen));
  }
  const info = await getTask(workspace, task); // After its parts, because reading a part can close the task.
  return { ...info, parts: parts.toSorted((a, b) => a.queuedAt - b.queuedAt) };
}
