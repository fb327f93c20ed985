/**
 * How the shared context is kept. An item is a memory; which memory holds is an entry, changed by
 * compare-and-set. Live items are exactly the entries of kind `context`; one entry counts the versions of
 * the whole and is put with every write, so that of two writers who looked at the same moment one looks
 * again. Each version leaves an entry that says what changed: memories can be redacted or tagged like
 * these by anybody, so the order of changes does not depend on them. No entry holds anybody's words.
 */
import { canonicalJson } from "../base/digest.ts";
import { marksOf, QUARANTINE } from "../memory/quarantine/quarantine-mark.ts";
import type { AuthoredRecord, Memory } from "../memory/record.ts";
import { type EntryRow, type MemoryRow, parseText } from "../store/rows.ts";
import type { PutEntry } from "../store/store.ts";
import { entriesOf, entryValue, toEntryText } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ContextBody, ContextItem, ContextSection } from "./items.ts";

const LIVE = "context";
const RETIRED = "context-retired";
const CHANGE = "context-change";
const VERSION_ENTRY = { kind: "context-version", name: "all" } as const;

/** Where an item is. */
export interface ItemName {
  readonly section: ContextSection;
  readonly key: string;
}

/** Which memory holds, or said that nothing does any more. */
export interface StoredItemRef {
  readonly memory: string;
  readonly version: number;
}

/** The whole: how many changes there were, and how many items are live. */
export interface ContextVersion {
  readonly version: number;
  readonly live: number;
  /** Of its entry. */
  readonly revision: number;
}

/** What one version changed. */
export interface StoredChange extends ItemName {
  readonly kind: "set" | "retired";
  readonly memory: string;
  /** The version of the item before; 0: there was none. */
  readonly was: number;
  /** The version it was retired at, where it is written anew. */
  readonly retired?: number;
  /** A decision that went with it, because this one takes its place. */
  readonly replaced?: { readonly key: string; readonly was: number };
}

export const entryName = ({ section, key }: ItemName): string =>
  canonicalJson([section, key], "invalid_input");

export function itemName({ name }: EntryRow): ItemName {
  const [section, key] = JSON.parse(name) as [ContextSection, string];
  return { section, key };
}

/** By code point as by number. */
const versionName = (version: number): string => String(version).padStart(16, "0");

export async function readContextVersion({ store, name }: Workspace): Promise<ContextVersion> {
  const entry = await store.findEntry(name, VERSION_ENTRY.kind, VERSION_ENTRY.name);
  const { version, live } = entryValue<Omit<ContextVersion, "revision">>(entry) ?? {
    version: 0,
    live: 0,
  };
  return { version, live, revision: entry?.revision ?? 0 };
}

export const putContextVersion = ({ version, live, revision }: ContextVersion): PutEntry => ({
  ...VERSION_ENTRY,
  value: toEntryText({ live, version }),
  basedOn: revision,
});

/** An entry as it was seen: undefined where there is none. */
export interface EntrySnapshot {
  readonly kept: StoredItemRef | undefined;
  readonly revision: number;
}

const entrySnapshotOf = (entry: EntryRow | undefined): EntrySnapshot => ({
  kept: entryValue<StoredItemRef>(entry),
  revision: entry?.revision ?? 0,
});

export interface ItemSnapshot {
  readonly live: EntrySnapshot;
  readonly retired: EntrySnapshot;
}

export async function readItemSnapshot(
  { store, name }: Workspace,
  item: ItemName,
): Promise<ItemSnapshot> {
  const [live, retired] = await Promise.all([
    store.findEntry(name, LIVE, entryName(item)),
    store.findEntry(name, RETIRED, entryName(item)),
  ]);
  return { live: entrySnapshotOf(live), retired: entrySnapshotOf(retired) };
}

/** The item holds as this memory says; it is not retired, whatever it was. */
export const putLive = (item: ItemName, seen: ItemSnapshot, kept: StoredItemRef): PutEntry[] => [
  put(LIVE, item, seen.live, kept),
  ...(seen.retired.kept === undefined ? [] : [put(RETIRED, item, seen.retired, undefined)]),
];

/** The item holds no more; this memory says why. */
export const putRetired = (item: ItemName, seen: ItemSnapshot, kept: StoredItemRef): PutEntry[] => [
  put(LIVE, item, seen.live, undefined),
  put(RETIRED, item, seen.retired, kept),
];

const put = (
  kind: string,
  item: ItemName,
  { revision }: EntrySnapshot,
  kept: StoredItemRef | undefined,
): PutEntry => ({
  kind,
  name: entryName(item),
  value: kept === undefined ? undefined : toEntryText(kept),
  basedOn: revision,
});

export const putChange = (version: number, change: StoredChange): PutEntry => ({
  kind: CHANGE,
  name: versionName(version),
  value: toEntryText(change),
  basedOn: 0,
});

export async function changeOf(
  { store, name }: Workspace,
  version: number,
): Promise<StoredChange | undefined> {
  return entryValue<StoredChange>(await store.findEntry(name, CHANGE, versionName(version)));
}

/** What changed after a version, oldest first. */
export async function changesAfter(
  { store, name: workspace }: Workspace,
  since: number,
  limit: number,
): Promise<readonly (StoredChange & { readonly version: number })[]> {
  const after = versionName(since);
  const page = await store.listEntries({ workspace, kind: CHANGE, after, limit });
  return page.flatMap((entry) => {
    const change = entryValue<StoredChange>(entry);
    return change === undefined ? [] : [{ ...change, version: Number(entry.name) }];
  });
}

/** The memory an item is, with what the writer wrote as its data. */
type ItemRecord = AuthoredRecord &
  Pick<Memory, "redacted"> & { readonly data?: { readonly item?: ContextBody } };

/** A live item as it can be told: not what was redacted or quarantined meanwhile. */
export type LiveItem =
  | { readonly kind: "item"; readonly item: ContextItem; readonly row: MemoryRow }
  | (ItemName & StoredItemRef & { readonly kind: "redacted" | "quarantined" });

/** Every live item, read anew: what was taken out of sight a moment ago is not told. */
export async function liveItems(
  workspace: Workspace,
  sections?: readonly ContextSection[],
): Promise<readonly LiveItem[]> {
  const { store, name } = workspace;
  const entries: (ItemName & StoredItemRef)[] = [];
  for await (const entry of entriesOf(workspace, LIVE)) {
    const named = itemName(entry);
    const kept = entryValue<StoredItemRef>(entry);
    if (kept === undefined || sections?.includes(named.section) === false) continue;
    entries.push({ ...named, ...kept });
  }
  if (entries.length === 0) return [];
  const ids = entries.map(({ memory }) => memory);
  const [rows, hidden] = await Promise.all([
    store.readMemories(name, ids),
    quarantinedAmong(workspace, ids),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return entries.map((entry) => liveItemOf(entry, byId.get(entry.memory), hidden));
}

/** One item as it can be told; undefined where there is none. */
export async function liveItem(
  workspace: Workspace,
  item: ItemName,
): Promise<LiveItem | undefined> {
  const { store, name } = workspace;
  const kept = entryValue<StoredItemRef>(await store.findEntry(name, LIVE, entryName(item)));
  if (kept === undefined) return undefined;
  return readItemVersion(workspace, { ...item, ...kept });
}

/** A version of an item as it can be told. */
export async function readItemVersion(
  workspace: Workspace,
  kept: ItemName & StoredItemRef,
): Promise<LiveItem> {
  const { store, name } = workspace;
  const [[row], hidden] = await Promise.all([
    store.readMemories(name, [kept.memory]),
    quarantinedAmong(workspace, [kept.memory]),
  ]);
  return liveItemOf(kept, row, hidden);
}

function liveItemOf(
  { section, key, memory, version }: ItemName & StoredItemRef,
  row: MemoryRow | undefined,
  hidden: ReadonlySet<string>,
): LiveItem {
  const gone = { section, key, memory, version };
  if (hidden.has(memory)) return { kind: "quarantined", ...gone };
  if (row === undefined) throw new Error(`${memory} is an item's, and there is no such memory`);
  const { data, redacted, agent, createdAt } = parseText<ItemRecord>(row);
  if (redacted !== undefined || data?.item === undefined) return { kind: "redacted", ...gone };
  const item = { ...data.item, version, memory, by: agent, at: createdAt };
  return { kind: "item", item, row };
}

/**
 * Those that are quarantined. Most workspaces have few marks or none: one look at them all is cheaper than
 * one for each item; where there are many, each is asked for.
 */
async function quarantinedAmong(
  workspace: Workspace,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 1) return new Set((await marksOf(workspace, ids)).keys());
  const { store, name, limits } = workspace;
  const limit = limits.pageSize;
  const marks = await store.listEntries({ workspace: name, kind: QUARANTINE, limit });
  if (marks.length < limit) return new Set(marks.map((entry) => entry.name));
  return new Set((await marksOf(workspace, ids)).keys());
}
