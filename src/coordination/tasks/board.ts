/**
 * Lists the board: every queued task that is not closed. Its cost does not grow with the number of closed
 * tasks.
 */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { Name, PRIORITIES } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { isOpen, isTaken, roleInbox } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { TASK } from "./edges.ts";
import { type TaskDelivery, type TaskInfo, taskInfoOf } from "./info.ts";
import { readTask } from "./read.ts";
import { OPEN_TASK_STATES, TASK_STATES } from "./state.ts";

/** The query of `tasks.board()`. All filters are optional and combined with "and". */
export const BoardSchema = z.strictObject({
  /** Only tasks in these states. */
  states: z.array(z.enum(OPEN_TASK_STATES)).optional(),
  /** Only tasks sent to this receiver: an agent, `role:…` or `channel:…`. */
  to: z.string().optional(),
  /** Only tasks sent to this role. */
  role: Name.optional(),
  /** Only parts of this task. */
  parent: Name.optional(),
  /** Only tasks that this agent holds or has in its inbox. */
  agent: Name.optional(),
  limit: z.int().positive().optional(),
  /** The `next` of the page before. */
  after: Name.optional(),
});
export type BoardQuery = z.input<typeof BoardSchema>;
type CheckedBoardQuery = z.output<typeof BoardSchema>;

/** Tasks read per store query. */
const BATCH = 50;

/**
 * Returns a page of open tasks. Pages go through the tasks in the order of their names; within a page, tasks
 * are sorted by state, then priority, deadline and age. Default limit: `limits.taskTree`.
 */
export async function listBoardTasks(
  workspace: Workspace,
  query: BoardQuery,
): Promise<Page<TaskInfo>> {
  const checked = parseOrThrow(BoardSchema, query, { code: "invalid_input", what: "The query" });
  const { limits, store, name } = workspace;
  const { limit = limits.taskTree } = checked;
  checkLimit(limits, "taskTree", { actual: limit, path: "limit" });
  const found: TaskInfo[] = [];
  let after = checked.after;
  let next = after;
  for (;;) {
    const page = await store.listEntries({
      workspace: name,
      kind: TASK,
      limit: BATCH,
      ...(after === undefined ? {} : { after }),
    });
    const infos = await Promise.all(page.map((entry) => readTaskInfo(workspace, entry.name)));
    for (const info of infos) {
      if (info === undefined || !matchesQuery(info, checked)) continue;
      if (found.length === limit && next !== undefined) return { items: sorted(found), next };
      found.push(info);
      next = info.task;
    }
    if (page.length < BATCH) return { items: sorted(found) };
    after = page.at(-1)?.name;
  }
}

async function readTaskInfo(workspace: Workspace, task: string): Promise<TaskInfo | undefined> {
  const found = await readTask(workspace, task);
  return found && taskInfoOf(workspace, found);
}

function matchesQuery(
  { state, to, parent, deliveries, closed }: TaskInfo,
  wanted: CheckedBoardQuery,
): boolean {
  const { states, agent } = wanted;
  const inbox = wanted.role === undefined ? undefined : roleInbox(wanted.role);
  return (
    closed === undefined &&
    (states === undefined || states.some((each) => each === state)) &&
    (wanted.to === undefined || wanted.to === to) &&
    (inbox === undefined || inbox === to) &&
    (wanted.parent === undefined || wanted.parent === parent) &&
    (agent === undefined || deliveries.some((each) => concernsAgent(agent, each)))
  );
}

const concernsAgent = (agent: string, { state, receiver, holder }: TaskDelivery): boolean =>
  (isOpen(state) && receiver === agent) || (isTaken(state) && holder === agent);

const sorted = (found: readonly TaskInfo[]): readonly TaskInfo[] =>
  found.toSorted(
    (a, b) =>
      TASK_STATES.indexOf(a.state) - TASK_STATES.indexOf(b.state) ||
      PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) ||
      (a.deadline ?? Number.POSITIVE_INFINITY) - (b.deadline ?? Number.POSITIVE_INFINITY) ||
      a.queuedAt - b.queuedAt,
  );
