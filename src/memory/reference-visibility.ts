/**
 * Checks that a new memory only references memories that its author and all its readers can access. A memory
 * private to others is refused like one that does not exist. A memory must not have a wider audience than
 * what it references, or its text would reveal what is private; with scope `agent` it may reference anything
 * its author sees. Scopes never change, so the check can run before the write.
 */
import { BatonError } from "../base/errors.ts";
import { parseText } from "../store/rows.ts";
import { isAudienceWithin, isRowInScope, type ScopedRecord } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { AuthoredRecord, WrittenRecord } from "./record.ts";
import { refusalError } from "./refusals.ts";

/** Options of refuseInvisibleReferences(). */
export interface ReferenceCheckOptions {
  /** The number of relations the hub put before the author's; subtracted from indexes in error paths. */
  readonly ahead?: number;
}

/**
 * Throws `dangling_reference` if a referenced memory is not visible to the author, and `invisible_reference`
 * if some readers of the new memory cannot access it.
 */
export async function refuseInvisibleReferences(
  workspace: Workspace,
  written: readonly WrittenRecord[],
  { ahead = 0 }: ReferenceCheckOptions = {},
): Promise<void> {
  const own = new Map<string, ScopedRecord>(written.map(({ authored }) => [authored.id, authored]));
  const mentions = written.flatMap(({ record }) =>
    record.mentions
      .filter((id) => !own.has(id))
      .map((reference) => ({ memory: record.id, reference })),
  );
  const rows = await rowsOf(
    workspace,
    mentions.map(({ reference }) => reference),
  );
  const hidden = new Set(
    rows.filter((row) => !isRowInScope(row, workspace.reader)).map((row) => row.id),
  );
  const first = mentions.find(({ reference }) => hidden.has(reference));
  if (first !== undefined)
    throw await refusalError(workspace, { kind: "missing_reference", ...first });
  const scoped = new Map([...own, ...rows.filter(hasScope).map(scopedOf)]);
  for (const [i, { authored }] of written.entries()) {
    refuseWider(authored, scoped, { ahead, prefix: written.length === 1 ? "" : `[${i}].` });
  }
}

const rowsOf = ({ store, name }: Workspace, ids: readonly string[]) =>
  ids.length === 0 ? [] : store.readMemories(name, [...new Set(ids)]);

/** Avoids parsing: most records have no scope, and then the text does not contain the key. */
const hasScope = ({ text }: { readonly text: string }): boolean => text.includes('"scope":');

const scopedOf = (row: { readonly id: string; readonly text: string }): [string, ScopedRecord] => [
  row.id,
  parseText<ScopedRecord>(row),
];

function refuseWider(
  authored: AuthoredRecord,
  scoped: ReadonlyMap<string, ScopedRecord>,
  { ahead, prefix }: { readonly ahead: number; readonly prefix: string },
): void {
  if (authored.scope === "agent") return;
  const { refs = [], relations = [] } = authored;
  const named = [
    ...refs.map((id, i) => ({ id, path: `${prefix}refs[${i}]` })),
    ...relations.map(({ to: id }, i) => ({ id, path: `${prefix}relations[${i - ahead}].to` })),
  ];
  for (const { id, path } of named) {
    const record = scoped.get(id);
    if (record !== undefined && !isAudienceWithin(authored, record))
      throw invisibleReference(id, path, record);
  }
}

function invisibleReference(reference: string, path: string, { scope }: ScopedRecord): BatonError {
  return new BatonError("invisible_reference", {
    message: `${path}: some readers of this memory cannot access ${reference}, which has the scope "${scope}".`,
    path,
    hint: `Write it with scope: "agent" or the scope of the referenced memory, or remove the reference.`,
    details: { reference },
  });
}

/** Returns the ids of existing memories that the reader may not see. */
export async function findHiddenIds(
  workspace: Workspace,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(workspace, ids);
  return new Set(rows.filter((row) => !isRowInScope(row, workspace.reader)).map((row) => row.id));
}
