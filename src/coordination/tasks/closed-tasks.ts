/** Lists closed tasks, the most recently closed first, page by page. A reopened task is not among them. */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { MemoryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { memoryOf } from "../../memory/record.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import type { MemoryRow } from "../../store/rows.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { type TaskInfo, taskInfoOf } from "./info.ts";
import { readTask } from "./read.ts";
import { CLOSED_TAG } from "./write-closing.ts";

/** The query of `tasks.closed()`. */
export const ClosedTasksSchema = z.strictObject({
  /** Only tasks that were closed as one of these. */
  states: z.array(z.enum(["done", "failed", "cancelled"])).optional(),
  /** Only parts of this task. */
  parent: Name.optional(),
  limit: z.int().positive().optional(),
  /** The `next` of the page before. */
  after: MemoryId.optional(),
});
export type ClosedTasksQuery = z.input<typeof ClosedTasksSchema>;

/** The default page size, and the number of records read per store query. */
const USUAL = 50;

/** Returns a page of closed tasks. Default limit: 50. */
export async function listClosedTasks(
  workspace: Workspace,
  query: ClosedTasksQuery,
): Promise<Page<TaskInfo>> {
  const checked = parseOrThrow(ClosedTasksSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  const { limits, store, name } = workspace;
  const { limit = Math.min(USUAL, limits.taskTree), states, parent } = checked;
  checkLimit(limits, "taskTree", { actual: limit, path: "limit" });
  const sight = await visibilityOf(onMainBranch(workspace));
  const items: TaskInfo[] = [];
  let before = checked.after;
  let next = before;
  for (;;) {
    const page = await store.recentMemories({
      workspace: name,
      sight,
      filter: { tag: CLOSED_TAG },
      limit: USUAL,
      ...(before === undefined ? {} : { before }),
    });
    for (const row of page) {
      before = row.id;
      const info = await taskInfoOfClosing(workspace, row);
      const isWanted =
        info !== undefined &&
        (states === undefined || states.some((each) => each === info.state)) &&
        (parent === undefined || parent === info.parent);
      if (!isWanted) continue;
      if (items.length === limit) return next === undefined ? { items } : { items, next };
      items.push(info);
      next = row.id;
    }
    if (page.length < USUAL) return { items };
  }
}

/**
 * Returns the task of a closing record; undefined if the task was reopened since, or if an agent wrote the
 * record with the same tag.
 */
async function taskInfoOfClosing(
  workspace: Workspace,
  row: MemoryRow,
): Promise<TaskInfo | undefined> {
  const { task } = memoryOf(row);
  const found = task === undefined ? undefined : await readTask(workspace, task);
  return found?.kept.closed?.record === row.id ? taskInfoOf(workspace, found) : undefined;
}
