/** Tasks that were closed, the last first, page by page. One that was reopened is not among them. */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { MemoryId, Name } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import { memoryOf } from "../../memory/record.ts";
import { sightOf } from "../../memory/sight.ts";
import type { MemoryRow } from "../../store/rows.ts";
import { trunkOf, type Workspace } from "../../workspace/workspace.ts";
import { CLOSED_TAG } from "./closing.ts";
import { infoOf, type TaskInfo } from "./info.ts";
import { readTask } from "./read.ts";

export const ClosedSchema = z.strictObject({
  states: z.array(z.enum(["done", "failed", "cancelled"])).optional(),
  /** Only parts of this task. */
  parent: Name.optional(),
  limit: z.int().positive().optional(),
  /** Only what was closed before this: `next` of the page before. */
  before: MemoryId.optional(),
});
export type ClosedQuery = z.input<typeof ClosedSchema>;

export interface ClosedTasks {
  readonly tasks: readonly TaskInfo[];
  /** There is more: `before` of the next page. */
  readonly next?: string;
}

const USUAL = 50;

export async function closedTasks(workspace: Workspace, query: ClosedQuery): Promise<ClosedTasks> {
  const checked = parseOr(ClosedSchema, query, { code: "invalid_input", what: "The query" });
  const { limits, store, name } = workspace;
  const { limit = Math.min(USUAL, limits.taskTree), states, parent } = checked;
  checkLimit(limits, "taskTree", { actual: limit, path: "limit" });
  const sight = await sightOf(trunkOf(workspace));
  const tasks: TaskInfo[] = [];
  let before = checked.before;
  for (;;) {
    const page = await store.recentMemories({
      workspace: name,
      sight,
      filter: { tag: CLOSED_TAG },
      limit: USUAL,
      ...(before === undefined ? {} : { before }),
    });
    for (const row of page) {
      if (tasks.length === limit) return { tasks, next: before ?? "" };
      before = row.id;
      const info = await closedBy(workspace, row);
      const isWanted =
        info !== undefined &&
        (states === undefined || states.some((each) => each === info.state)) &&
        (parent === undefined || parent === info.parent);
      if (isWanted) tasks.push(info);
    }
    if (page.length < USUAL) return { tasks };
  }
}

/** Undefined: that closing no longer stands, or is somebody's own record with the same tag. */
async function closedBy(workspace: Workspace, row: MemoryRow): Promise<TaskInfo | undefined> {
  const { task } = memoryOf(row);
  const found = task === undefined ? undefined : await readTask(workspace, task);
  return found?.kept.closed?.record === row.id ? infoOf(workspace, found) : undefined;
}
