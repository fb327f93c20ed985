/**
 * Closes a task: writes a record with the agent and the reason, the ledger of the task and its queue entry,
 * in one operation that succeeds only if the ledger is unchanged. Afterwards the tasks that waited for it are
 * opened. If the process dies before that, the next reader does it (finish-task.ts).
 */
import { clip } from "../../base/clip.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { type Author, writeRecord } from "../../memory/record.ts";
import { refusalError } from "../../memory/refusals.ts";
import { LEDGER, type StoredClosing, type StoredLedger } from "../../memory/stored-ledger.ts";
import type { PutEntry } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { dependentsOf, newEntry, TASK } from "./edges.ts";
import { closingOf, readTask, type TaskSnapshot, waitsForTasks } from "./read.ts";

/** The tag of closing records; `tasks.closed()` pages over them. */
export const CLOSED_TAG = "task-closed";

/** How a task is closed. */
export interface TaskClosing extends Pick<StoredClosing, "as" | "reason" | "repeats"> {
  /** The agent that closed it; not always the author of the record. */
  readonly by: string;
  readonly author: Author;
  /** The id of the record that the closing continues from. */
  readonly continues: string;
  /** The id of the record that caused it. */
  readonly causedBy?: string | undefined;
}

/** Closes a task. Returns false if the ledger was changed meanwhile; then nothing was written. */
export function writeClosing(
  workspace: Workspace,
  found: TaskSnapshot,
  { as, by, author, continues, causedBy, repeats, ...closing }: TaskClosing,
): Promise<boolean> {
  const { task } = found;
  const { ending: _, ...begun } = found.kept;
  const reason = clip(closing.reason, FORMAT_LIMITS.lineLength);
  return writeLedger(workspace, found, {
    author,
    content: `${by} closed "${task}" as ${as}: ${reason}`,
    data: { as, by, reason },
    tags: [CLOSED_TAG],
    continues,
    causedBy,
    next: (record, at) => ({
      ...begun,
      closed: { as, at, by, reason, record, ...(repeats === undefined ? {} : { repeats }) },
    }),
    place: "off",
  });
}

/** A change of a ledger, with the record that states it. */
export interface LedgerChange {
  readonly author: Author;
  readonly content: string;
  readonly data: Record<string, unknown>;
  readonly tags: string[];
  readonly continues: string;
  readonly causedBy?: string | undefined;
  readonly next: (record: string, at: number) => StoredLedger;
  /** Whether the task is on the board afterwards. */
  readonly place: "on" | "off";
  /** Entries that are written in the same operation. */
  readonly entries?: readonly PutEntry[];
}

/**
 * Writes a record and the changed ledger in one operation. Returns false if the ledger or another entry was
 * changed meanwhile; then nothing was written.
 */
export async function writeLedger(
  workspace: Workspace,
  { task, kept, revision }: TaskSnapshot,
  { author, next, place, continues, causedBy, entries: others = [], ...change }: LedgerChange,
): Promise<boolean> {
  const { store, name, branch, ids, clock, limits } = onMainBranch(workspace);
  const id = ids.mint("memory");
  const now = clock.now();
  const relations = [
    { kind: "continues-from" as const, to: continues },
    ...(causedBy === undefined ? [] : [{ kind: "caused-by" as const, to: causedBy }]),
  ];
  const { record } = writeRecord(
    author,
    { id, type: "decision", task, ...change, relations },
    { ids, now, limits, branch },
  );
  const value = toEntryText(next(id, now));
  const ledger: PutEntry = { kind: LEDGER, name: task, value, basedOn: revision };
  const boardEntries = kept.queue ? await boardEntryChange(workspace, task, place) : [];
  const outcome = await store.appendMemories({
    workspace: name,
    branch,
    memories: [record],
    entries: [ledger, ...boardEntries, ...others],
  });
  switch (outcome.kind) {
    case "appended":
      return true;
    case "entry_changed":
      return false;
    case "lease_lost":
    case "tip_moved":
      throw new Error(`unexpected outcome of writing a ledger: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Returns the change of the queue entry; none if it exists (or is gone) already. */
async function boardEntryChange(
  { store, name }: Workspace,
  task: string,
  place: "on" | "off",
): Promise<PutEntry[]> {
  const entry = await store.findEntry(name, TASK, task);
  if ((entry !== undefined) === (place === "on")) return [];
  const put = newEntry(TASK, task);
  return [entry === undefined ? put : { ...put, value: undefined, basedOn: entry.revision }];
}

/** Opens or fails the tasks that wait for a closed task. */
export async function openDependents(workspace: Workspace, task: string): Promise<void> {
  for (const dependent of await dependentsOf(workspace, task)) {
    await runFollowUp(`after ${task}: ${dependent}`, () => openDependent(workspace, dependent));
  }
}

async function openDependent(workspace: Workspace, task: string): Promise<void> {
  const found = await readTask(workspace, task);
  for (const part of found?.parts.filter(waitsForTasks) ?? []) {
    if (await isDecided(workspace, part.says.after ?? [])) {
      await workspace.duties.openWaiting(workspace, part);
    }
  }
}

/**
 * Returns true if a task that waits for these can start, or never will. Closing one of many does not check
 * the others further: the periodic check finds tasks that have ended and are not closed.
 */
async function isDecided(workspace: Workspace, after: readonly string[]): Promise<boolean> {
  const closings = await Promise.all(after.map((each) => closingOf(workspace, each)));
  return (
    !closings.includes(undefined) ||
    closings.some((each) => each !== undefined && each.as !== "done")
  );
}
