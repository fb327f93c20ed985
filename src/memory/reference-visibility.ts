/**
 * What an author mentions must be there for it: a record that is private to others is refused exactly as
 * one that does not exist. And it must be there for whoever reads the mention: a record may not be seen
 * more widely than what it names, or its text would tell of what is private. A record for its author
 * alone may name whatever its author sees. Scopes never change, so this can be asked before anything is
 * written.
 */
import { BatonError } from "../base/errors.ts";
import { parseText } from "../store/rows.ts";
import { isAudienceWithin, isRowInScope, type ScopedRecord } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { AuthoredRecord, WrittenRecord } from "./record.ts";
import { refusalError } from "./refusals.ts";

export interface ReferenceCheckOptions {
  /** Relations that stand before those the author gave: not counted in the path of an error. */
  readonly ahead?: number;
}

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

/** Most records have no scope, and a text without the word needs no parsing. */
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
    message: `${path}: ${reference} is for the ${scope} only, and would be named to others.`,
    path,
    hint: `Write it with scope: "agent" or with that of what it names, or say what matters without naming it.`,
    details: { reference },
  });
}

/** Those of the records that are there, and not for the reader to see. */
export async function findHiddenIds(
  workspace: Workspace,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(workspace, ids);
  return new Set(rows.filter((row) => !isRowInScope(row, workspace.reader)).map((row) => row.id));
}
