/**
 * Detects dependency cycles: a task that could never start, because what it waits for cannot be done before
 * it. A task is done after its parts, so a task it waits for must not wait, directly or indirectly, for it or
 * for a task it is part of.
 */
import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
import { findTaskLedger } from "./read.ts";

/** A task that is about to be added, with its parent and dependencies. */
export interface TaskLinks {
  readonly task: string;
  readonly parent?: string | undefined;
  readonly after: readonly string[];
}

/** Throws `invalid_input` if adding a task would create a cycle. Visits at most `limits.taskTree` tasks. */
export async function refuseCycle(workspace: Workspace, wanted: TaskLinks): Promise<void> {
  const { task, after } = wanted;
  if (after.includes(task)) throw dependencyCycle(task, [task, task]);
  if (after.length === 0) return;
  const needIt = new Set([task, ...(await ancestorsOf(workspace, wanted))]);
  if (needIt.size === 1) return; // The task is new, so nothing waits for it yet.
  const cameFrom = new Map<string, string>();
  let next = [...after];
  for (const name of next) cameFrom.set(name, task);
  while (next.length > 0) {
    checkLimit(workspace.limits, "taskTree", { actual: cameFrom.size, path: "after" });
    const closing = next.find((name) => needIt.has(name));
    if (closing !== undefined) throw dependencyCycle(task, wayTo(closing, cameFrom));
    const further = await Promise.all(next.map((name) => prerequisitesOf(workspace, name)));
    const found = next.flatMap((name, i) => (further[i] ?? []).map((to) => [to, name] as const));
    next = [...new Set(found.map(([to]) => to))].filter((name) => !cameFrom.has(name));
    for (const [to, from] of found) if (!cameFrom.has(to)) cameFrom.set(to, from);
  }
}

/** Returns the tasks that contain this one and so are not done before it. */
async function ancestorsOf(workspace: Workspace, { parent }: TaskLinks): Promise<string[]> {
  const above: string[] = [];
  for (let at = parent; at !== undefined && !above.includes(at); ) {
    above.push(at);
    checkLimit(workspace.limits, "taskTree", { actual: above.length, path: "parent" });
    at = (await findTaskLedger(workspace, at))?.kept.queue?.parent;
  }
  return above;
}

/** Returns the tasks that must be done before a task is done. */
async function prerequisitesOf(workspace: Workspace, task: string): Promise<readonly string[]> {
  const { kept } = (await findTaskLedger(workspace, task)) ?? {};
  if (kept?.closed !== undefined) return [];
  return [...(kept?.queue?.after ?? []), ...(await childrenOf(workspace, task))];
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [end];
  for (let at = cameFrom.get(end); at !== undefined; at = cameFrom.get(at)) way.unshift(at);
  return way;
}

function dependencyCycle(task: string, way: readonly string[]): BatonError {
  const names = way.map((name) => `"${name}"`).join(" → ");
  return new BatonError("invalid_input", {
    message: `after: task "${task}" would wait for itself: ${names}.`,
    path: "after",
    hint: "Remove from after the tasks that it is part of and the tasks that wait for it.",
    details: { task, way },
  });
}
