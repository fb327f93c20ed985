/**
 * Ending a task from above: its ledger says so first, and from then on nothing is handed over for it.
 * Everything open of it is taken back (whoever holds something is told), its open parts are ended as
 * cancelled, then it is closed, and what waits for it hears of that. Nothing is ever open below a closed
 * task. Whoever finds it half done, by running it again or by looking (finish.ts), does the rest; what is
 * closed stays as it was closed first.
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

export interface EndTaskOptions {
  readonly as: StoredClosing["as"];
  readonly reason: string;
  /** Who decided so, where somebody else carries it out. */
  readonly by?: string;
  /** Deliveries that stay open: the one that asks for this very decision. */
  readonly except?: readonly string[] | undefined;
  /** The record of what it came of. */
  readonly causedBy?: string | undefined;
}

/** How it is closed now: by this, or as somebody did before. */
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
    { what: `The end of "${task}" was overtaken`, attempts: 50 },
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
      return RETRY; // Each step is seen to be done before the next.
    },
  );
}

const mustCancel = (
  { delivery }: TaskSnapshot["parts"][number],
  except: readonly string[],
): boolean => isOpen(delivery.state) && !except.includes(delivery.id);

/** Says so on the ledger, unless somebody was quicker to change it. */
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
  const why = `"${task}", of which it is a part, ${CLOSING_PHRASES[as]}: ${reason}`;
  const shown = clip(why, FORMAT_LIMITS.lineLength);
  await endSingleTask(workspace, by, child, { as: "cancelled", reason: shown, causedBy });
  await openDependents(workspace, child);
}

const CLOSING_PHRASES = { cancelled: "was cancelled", done: "is done", failed: "failed" } as const;
