/**
 * Ends a task together with everything open in it. First the ledger is marked as ending, which stops new
 * handoffs of the task. Then open deliveries are cancelled (holders are notified), open parts are ended as
 * cancelled, the task is closed, and tasks that wait for it are updated. Nothing is ever open below a closed
 * task. A process that finds a task half ended, by calling this again or by reading it (finish-task.ts),
 * completes the remaining steps. The first closing stands.
 */
import { clip } from "../../base/clip.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { cancelTask } from "../../delivery/settle/cancel.ts";
import type { Author } from "../../memory/record.ts";
import { LEDGER, type StoredClosing, type StoredEnding } from "../../memory/stored-ledger.ts";
import { isOpen } from "../../store/rows.ts";
import { toEntryText } from "../../workspace/entries.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { afterClosing } from "./auto-close.ts";
import { childrenOf } from "./edges.ts";
import { filterOpenTasks, requireTask, type TaskSnapshot } from "./read.ts";
import { openDependents, writeClosing } from "./write-closing.ts";

/** How a task is ended. */
export interface EndTaskOptions {
  readonly as: StoredClosing["as"];
  readonly reason: string;
  /** The agent that decided it, if another one carries it out. Default: the caller. */
  readonly by?: string;
  /** Deliveries that stay open: the one that asks for this decision. */
  readonly except?: readonly string[] | undefined;
  /** The id of the record that caused it. */
  readonly causedBy?: string | undefined;
}

/** Ends a task and its parts. Returns how it is closed: by this call, or as it was closed before. */
export async function endTask(
  workspace: Workspace,
  by: Author,
  task: string,
  ending: EndTaskOptions,
): Promise<StoredClosing> {
  const trunk = onMainBranch(workspace);
  const { closing, parent } = await endSingleTask(trunk, by, task, ending);
  await afterClosing(trunk, task, parent);
  return closing;
}

interface EndTaskResult {
  readonly closing: StoredClosing;
  readonly parent: string | undefined;
}

async function endSingleTask(
  workspace: Workspace,
  by: Author,
  task: string,
  wanted: EndTaskOptions,
): Promise<EndTaskResult> {
  return retryWrite<EndTaskResult>(
    { what: `Task "${task}" was changed`, attempts: 50 },
    async () => {
      const found = await requireTask(workspace, task);
      const { closed, ending, queue } = found.kept;
      const { except = [], ...said } = ending ?? wanted;
      if (
        found.parts.some((part) => mustCancel(part, except)) &&
        (closed ?? ending) !== undefined
      ) {
        await cancelTask(workspace, by, { task, except }, said.reason);
        return RETRY;
      }
      if (closed !== undefined) return { closing: closed, parent: queue?.parent };
      if (ending === undefined) {
        await markEnding(workspace, found, { by: by.agent, except, ...said });
        return RETRY;
      }
      const children = await filterOpenTasks(workspace, await childrenOf(workspace, task));
      if (children.length > 0) {
        for (const child of children) await endChild(workspace, by, child, { ...ending, task });
        return RETRY;
      }
      const { lastRecord: continues } = found;
      await writeClosing(workspace, found, { ...ending, author: by, continues });
      return RETRY; // Each step is read back before the next.
    },
  );
}

const mustCancel = (
  { delivery }: TaskSnapshot["parts"][number],
  except: readonly string[],
): boolean => isOpen(delivery.state) && !except.includes(delivery.id);

/** Marks the ledger as ending, unless it was changed meanwhile. */
async function markEnding(
  { store, name: workspace }: Workspace,
  { task, kept, revision: basedOn }: TaskSnapshot,
  ending: StoredEnding,
): Promise<void> {
  const value = toEntryText({ ...kept, ending });
  await store.putEntry(workspace, { kind: LEDGER, name: task, value, basedOn });
}

async function endChild(
  workspace: Workspace,
  by: Author,
  child: string,
  { as, reason, causedBy, task }: StoredEnding & { readonly task: string },
): Promise<void> {
  const why = `Its parent task "${task}" ${CLOSING_PHRASES[as]}: ${reason}`;
  const shown = clip(why, FORMAT_LIMITS.lineLength);
  await endSingleTask(workspace, by, child, { as: "cancelled", reason: shown, causedBy });
  await openDependents(workspace, child);
}

const CLOSING_PHRASES = { cancelled: "was cancelled", done: "is done", failed: "failed" } as const;
