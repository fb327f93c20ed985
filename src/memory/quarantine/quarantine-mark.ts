/**
 * The mark of a quarantined memory: an entry under its id with the agent, time, reason and the record on the
 * chain. Marked memories are excluded from every query. A read by id still returns them, with the mark, and
 * new memories must not reference them.
 */
import { BatonError } from "../../base/errors.ts";
import { type EntryRow, parseText } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The kind of the entry, and the type of the record on the chain. */
export const QUARANTINE = "quarantine";

/** Who quarantined a memory, when (ms since the epoch) and why. */
export interface QuarantineMark {
  readonly by: string;
  readonly at: number;
  readonly reason: string;
  /** The id of the record on the chain. */
  readonly record: string;
}

/** Parses a mark's entry. */
export function parseMark(entry: EntryRow): QuarantineMark {
  return parseText<QuarantineMark>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
}

/** Returns the mark of a memory; undefined if it is not quarantined. */
export async function markOf(
  { store, name }: Workspace,
  memory: string,
): Promise<QuarantineMark | undefined> {
  const entry = await store.findEntry(name, QUARANTINE, memory);
  return entry && parseMark(entry);
}

/** Returns whether the workspace has any mark. */
export async function anyMarked({ store, name: workspace }: Workspace): Promise<boolean> {
  return (await store.listEntries({ workspace, kind: QUARANTINE, limit: 1 })).length > 0;
}

/** Yields all marks, page by page. */
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

/** Returns the marks of these memories. Most workspaces have no marks, which costs one query. */
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

/** Returns the records that are not quarantined, and may be referenced. */
export async function withoutQuarantined<T extends { readonly id: string }>(
  workspace: Workspace,
  records: readonly T[],
): Promise<T[]> {
  const ids = records.map(({ id }) => id);
  const marks = await marksOf(workspace, ids);
  return records.filter(({ id }) => !marks.has(id));
}

/** A memory that a new one builds on, and the input path. */
export interface Citation {
  readonly id: string;
  readonly path: string;
}

/** Throws `quarantined` if a cited memory is quarantined. */
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
    hint: `Remove it, or reference a memory that corrects it; baton quarantine --lift ${memory} lifts the quarantine.`,
    details: { memory, ...mark },
  });
}
