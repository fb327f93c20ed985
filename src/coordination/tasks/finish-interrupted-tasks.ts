/**
 * Looking after the queue: what a process that died has left of the end of a task (finish.ts) is found also
 * where nobody asks for that task. A hub that stays looks at a page of the open tasks now and then, and goes
 * on from there the next time: 10 to 25 ms every half minute, however long the queue is.
 */
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { TASK } from "./edges.ts";
import { finishTask } from "./finish-task.ts";
import { readTask } from "./read.ts";

const EVERY_MS = 30_000;
/** Tasks in one go. */
const PAGE = 50;

interface SweepPosition {
  readonly at: number;
  /** The last task that was looked at; empty: from the beginning. */
  readonly after: string;
}

const sweepPositions = new WeakMap<object, SweepPosition>();

/** Nothing, most of the time; and nothing for a process that only looks once. */
export async function finishInterruptedTasks(workspace: Workspace): Promise<void> {
  const { root, clock, store, name } = workspace;
  const at = clock.now();
  const { at: last, after } = sweepPositions.get(root) ?? { at, after: "" };
  const isDue = at - last >= EVERY_MS;
  sweepPositions.set(root, { at: isDue ? at : last, after });
  if (!isDue) return;
  const page = await store.listEntries({ workspace: name, kind: TASK, after, limit: PAGE });
  sweepPositions.set(root, { at, after: page.length < PAGE ? "" : (page.at(-1)?.name ?? "") });
  for (const { name: task } of page) {
    await runFollowUp(`look after ${task}`, async () => {
      const found = await readTask(workspace, task);
      if (found !== undefined) await finishTask(workspace, found);
    });
  }
}
