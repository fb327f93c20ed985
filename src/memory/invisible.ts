/**
 * What an author mentions must be there for it: a record that is private to others is refused exactly as
 * one that does not exist. Scopes never change, so this can be asked before anything is written.
 */
import { isRowOpenTo } from "../store/sight.ts";
import type { Workspace } from "../store/workspace.ts";
import type { WrittenRecord } from "./record.ts";
import { refusalError } from "./refusals.ts";

export async function refuseInvisible(
  workspace: Workspace,
  written: readonly WrittenRecord[],
): Promise<void> {
  const own = new Set(written.map(({ record }) => record.id));
  const mentions = written.flatMap(({ record }) =>
    record.mentions
      .filter((id) => !own.has(id))
      .map((reference) => ({ memory: record.id, reference })),
  );
  if (mentions.length === 0) return;
  const hidden = await hiddenAmong(
    workspace,
    mentions.map(({ reference }) => reference),
  );
  const first = mentions.find(({ reference }) => hidden.has(reference));
  if (first === undefined) return;
  throw await refusalError(workspace, { kind: "missing_reference", ...first });
}

/** Those of the records that are there, and not for the reader to see. */
export async function hiddenAmong(
  { store, name, reader }: Workspace,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await store.readMemories(name, [...new Set(ids)]);
  return new Set(rows.filter((row) => !isRowOpenTo(row, reader)).map((row) => row.id));
}
