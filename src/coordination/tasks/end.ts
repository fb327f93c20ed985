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
import { type KeptClosing, type KeptEnding, LEDGER } from "../../memory/ledger.ts";
import type { Author } from "../../memory/record.ts";
import { isOpen } from "../../store/rows.ts";
import { writtenValue } from "../../workspace/entries.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { trunkOf, type Workspace } from "../../workspace/workspace.ts";
import { tellDependents, writeClosing } from "./closing.ts";
import { childrenOf } from "./edges.ts";
import { afterClosing } from "./ended.ts";
import { openOf, requireTask, type TaskRead } from "./read.ts";

export interface Ending {
  readonly as: KeptClosing["as"];
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
  ending: Ending,
): Promise<KeptClosing> {
  const trunk = trunkOf(workspace);
  const { closing, parent } = await endOne(trunk, by, task, ending);
  await afterClosing(trunk, task, parent);
  return closing;
}

interface Ended {
  readonly closing: KeptClosing;
  readonly parent: string | undefined;
}

async function endOne(
  workspace: Workspace,
  by: Author,
  task: string,
  wanted: Ending,
): Promise<Ended> {
  return retryWrite<Ended>(
    { what: `The end of "${task}" was overtaken`, attempts: 50 },
    async () => {
      const found = await requireTask(workspace, task);
      const { closed, ending, queue } = found.kept;
      const { except = [], ...said } = ending ?? wanted;
      if (found.parts.some((part) => isToGo(part, except)) && (closed ?? ending) !== undefined) {
        await cancelTask(workspace, by, { task, except }, said.reason);
        return RETRY;
      }
      if (closed !== undefined) return { closing: closed, parent: queue?.parent };
      if (ending === undefined) {
        await begin(workspace, found, { by: by.agent, except, ...said });
        return RETRY;
      }
      const children = await openOf(workspace, await childrenOf(workspace, task));
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

const isToGo = ({ delivery }: TaskRead["parts"][number], except: readonly string[]): boolean =>
  isOpen(delivery.state) && !except.includes(delivery.id);

/** Says so on the ledger, unless somebody was quicker to change it. */
async function begin(
  { store, name: workspace }: Workspace,
  { task, kept, revision: basedOn }: TaskRead,
  ending: KeptEnding,
): Promise<void> {
  const value = writtenValue({ ...kept, ending });
  await store.putEntry(workspace, { kind: LEDGER, name: task, value, basedOn });
}

async function endChild(
  workspace: Workspace,
  by: Author,
  child: string,
  { as, reason, causedBy, task }: KeptEnding & { readonly task: string },
): Promise<void> {
  const why = `"${task}", of which it is a part, ${HOW[as]}: ${reason}`;
  const shown = clip(why, FORMAT_LIMITS.lineLength);
  await endOne(workspace, by, child, { as: "cancelled", reason: shown, causedBy });
  await tellDependents(workspace, child);
}

const HOW = { cancelled: "was cancelled", done: "is done", failed: "failed" } as const;
