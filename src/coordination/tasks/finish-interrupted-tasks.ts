/**
 * Periodically completes tasks that a crashed process left half ended (finish-task.ts), also if no caller
 * reads them. A long-running hub checks one page of open tasks every 30 s and continues from there the next
 * time: 10 to 25 ms each, independent of the length of the queue.
 */
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { TASK } from "./edges.ts";
import { finishTask } from "./finish-task.ts";
import { readTask } from "./read.ts";

/** The interval between two checks, in milliseconds. */
const EVERY_MS = 30_000;
/** Tasks per check. */
const PAGE = 50;

interface SweepPosition {
  readonly at: number;
  /** The last task that was checked; empty: start from the beginning. */
  readonly after: string;
}

const sweepPositions = new WeakMap<object, SweepPosition>();

/**
 * Checks the next page of open tasks if the interval has passed. The first call of a process only starts the
 * interval, so a process that calls once does no work.
 */
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
    await runFollowUp(`check task ${task}`, async () => {
      const found = await readTask(workspace, task);
      if (found !== undefined) await finishTask(workspace, found);
    });
  }
}
