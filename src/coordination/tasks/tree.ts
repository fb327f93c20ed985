/** A task with its parts, and theirs: open and closed, in the order they were added. */
import { checkLimit } from "../../base/limits.ts";
import { parseTaskName } from "../../ledger/release.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
import { getTask, type TaskInfo } from "./info.ts";

export interface TaskTree extends TaskInfo {
  readonly parts: readonly TaskTree[];
}

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
  const info = await getTask(workspace, task); // After its parts: to look at one may close it.
  return { ...info, parts: parts.toSorted((a, b) => a.queuedAt - b.queuedAt) };
}
