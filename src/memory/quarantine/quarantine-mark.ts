/**
 * The mark of a record that was taken out of sight: an entry under its id, which says by whom, when
 * and why, and which record on the chain says so too. Marked records are left out of every look; by
 * their id they are still read, with the mark, and nothing new may build on them.
 */
import { BatonError } from "../../base/errors.ts";
import { type EntryRow, parseText } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The kind of entry, and the type of record that is left on the chain. */
export const QUARANTINE = "quarantine";

export interface QuarantineMark {
  readonly by: string;
  readonly at: number;
  readonly reason: string;
  /** The record on the chain that says so. */
  readonly record: string;
}

export function parseMark(entry: EntryRow): QuarantineMark {
  return parseText<QuarantineMark>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
}

export async function markOf(
  { store, name }: Workspace,
  memory: string,
): Promise<QuarantineMark | undefined> {
  const entry = await store.findEntry(name, QUARANTINE, memory);
  return entry && parseMark(entry);
}

export async function anyMarked({ store, name: workspace }: Workspace): Promise<boolean> {
  return (await store.listEntries({ workspace, kind: QUARANTINE, limit: 1 })).length > 0;
}

/** Every mark there is, page by page. */
export async function* allMarks({
  store,
  name: workspace,
  limits,
}: Workspace): AsyncGenerator<{ readonly memory: string; readonly mark: QuarantineMark }> {
  const limit = limits.pageSize;
  for (let after = ""; ; ) {
    const page = await store.listEntries({ workspace, kind: QUARANTINE, after, limit });
    for (const entry of page) yield { memory: entry.name, mark: parseMark(entry) };
    after = page.at(-1)?.name ?? "";
    if (page.length < limit) return;
  }
}

/** Those of the records that are marked. Most workspaces have no mark at all, which is one look. */
export async function marksOf(
  workspace: Workspace,
  memories: readonly string[],
): Promise<ReadonlyMap<string, QuarantineMark>> {
  const { store, name } = workspace;
  const marks = new Map<string, QuarantineMark>();
  if (memories.length === 0) return marks;
  if (memories.length > 1 && !(await anyMarked(workspace))) return marks;
  const found = await Promise.all(
    [...new Set(memories)].map((id) => store.findEntry(name, QUARANTINE, id)),
  );
  for (const entry of found) if (entry) marks.set(entry.name, parseMark(entry));
  return marks;
}

/** Those that are not marked: what may go into something new. */
export async function withoutQuarantined<T extends { readonly id: string }>(
  workspace: Workspace,
  records: readonly T[],
): Promise<T[]> {
  const ids = records.map(({ id }) => id);
  const marks = await marksOf(workspace, ids);
  return records.filter(({ id }) => !marks.has(id));
}

/** What a new record builds on, and where its author says so. */
export interface Citation {
  readonly id: string;
  readonly path: string;
}

/** Nothing new builds on a record that was taken out of sight. */
export async function refuseQuarantined(
  workspace: Workspace,
  cited: readonly Citation[],
): Promise<void> {
  const marks = await marksOf(
    workspace,
    cited.map(({ id }) => id),
  );
  if (marks.size === 0) return;
  for (const { id, path } of cited) {
    const mark = marks.get(id);
    if (mark !== undefined) throw quarantinedError(id, path, mark);
  }
}

function quarantinedError(memory: string, path: string, mark: QuarantineMark): BatonError {
  return new BatonError("quarantined", {
    message: `${path}: ${memory} was quarantined by ${mark.by}: ${mark.reason}`,
    path,
    hint: `Leave it out, or build on a record that corrects it; baton quarantine --lift ${memory} puts it back.`,
    details: { memory, ...mark },
  });
}
