/**
 * Writing down that a task is closed: one record that says who closed it and why, the task's ledger, and
 * its place in the queue, together or not at all, and only while the ledger is as it was seen. Afterwards
 * what waited for it is told. If that is lost with its process, it is found by whoever looks (ended.ts).
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

/** Marks the record of a closing: `closed()` pages over them. */
export const CLOSED_TAG = "task-closed";

export interface TaskClosing extends Pick<StoredClosing, "as" | "reason" | "repeats"> {
  /** Who closed it: not always who writes it down. */
  readonly by: string;
  readonly author: Author;
  /** The record it continues from. */
  readonly continues: string;
  /** What it came of. */
  readonly causedBy?: string | undefined;
}

/** False: somebody has changed the ledger meanwhile, and nothing was written. */
export function writeClosing(
  workspace: Workspace,
  found: TaskSnapshot,
  { as, by, author, continues, causedBy, repeats, ...said }: TaskClosing,
): Promise<boolean> {
  const { task } = found;
  const { ending: _, ...begun } = found.kept;
  const reason = clip(said.reason, FORMAT_LIMITS.lineLength);
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

export interface LedgerChange {
  readonly author: Author;
  readonly content: string;
  readonly data: Record<string, unknown>;
  readonly tags: string[];
  readonly continues: string;
  readonly causedBy?: string | undefined;
  readonly next: (record: string, at: number) => StoredLedger;
  /** Whether it is on the board from now on. */
  readonly place: "on" | "off";
  /** Written with it, or nothing is. */
  readonly entries?: readonly PutEntry[];
}

export async function writeLedger(
  workspace: Workspace,
  { task, kept, revision }: TaskSnapshot,
  { author, next, place, continues, causedBy, entries: others = [], ...said }: LedgerChange,
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
    { id, type: "decision", task, ...said, relations },
    { ids, now, limits },
  );
  const value = toEntryText(next(id, now));
  const ledger: PutEntry = { kind: LEDGER, name: task, value, basedOn: revision };
  const seat = kept.queue ? await boardEntryChange(workspace, task, place) : [];
  const outcome = await store.appendMemories({
    workspace: name,
    branch,
    memories: [record],
    entries: [ledger, ...seat, ...others],
  });
  switch (outcome.kind) {
    case "appended":
      return true;
    case "entry_changed":
      return false;
    case "lease_lost":
    case "tip_moved":
      throw new Error(`a closing was refused: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Nothing, where it is there already, or gone. */
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

/** What waited for it may begin, or never will. */
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
 * Whether it is known by now what comes of a task that waits for these. Whoever closes one of many looks
 * no further: what is over and not closed is found by the look after a while.
 */
async function isDecided(workspace: Workspace, after: readonly string[]): Promise<boolean> {
  const closings = await Promise.all(after.map((each) => closingOf(workspace, each)));
  return (
    !closings.includes(undefined) ||
    closings.some((each) => each !== undefined && each.as !== "done")
  );
}
