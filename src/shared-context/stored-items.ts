/**
 * How the shared context is stored. Each item is a memory; an entry of kind `context` names the memory that
 * is current and is changed by compare-and-set, so the live items are exactly these entries. One more entry
 * holds the version of the whole context and is rewritten with every change, so of two concurrent writers
 * one has to read again. Each version also leaves an entry that describes the change: the order of changes
 * does not depend on memories, which can be redacted, and which any agent can tag the same way. Entries hold
 * names and versions only, no text written by agents.
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

/** The section and key that identify an item. */
export interface ItemName {
  readonly section: ContextSection;
  readonly key: string;
}

/** The memory of the current version of an item, or of its retirement. */
export interface StoredItemRef {
  readonly memory: string;
  readonly version: number;
}

/** The state of the whole context: its version and the number of live items. */
export interface ContextVersion {
  /** The number of changes so far. */
  readonly version: number;
  readonly live: number;
  /** The revision of the entry, for compare-and-set. */
  readonly revision: number;
}

/** What one version changed, as stored. */
export interface StoredChange extends ItemName {
  readonly kind: "set" | "retired";
  readonly memory: string;
  /** The item's previous version; 0 if it is new. */
  readonly was: number;
  /** The version at which the item was retired, if it is set again after that. */
  readonly retired?: number;
  /** The decision that was retired because this one supersedes it. */
  readonly replaced?: { readonly key: string; readonly was: number };
}

/** Returns the entry name of an item. */
export const entryName = ({ section, key }: ItemName): string =>
  canonicalJson([section, key], "invalid_input");

/** Parses an entry name back into section and key. */
export function itemName({ name }: EntryRow): ItemName {
  const [section, key] = JSON.parse(name) as [ContextSection, string];
  return { section, key };
}

/** Pads a version so that entry names sort by number. */
const versionName = (version: number): string => String(version).padStart(16, "0");

/** Reads the version of the whole context; 0 if nothing was ever written. */
export async function readContextVersion({ store, name }: Workspace): Promise<ContextVersion> {
  const entry = await store.findEntry(name, VERSION_ENTRY.kind, VERSION_ENTRY.name);
  const { version, live } = entryValue<Omit<ContextVersion, "revision">>(entry) ?? {
    version: 0,
    live: 0,
  };
  return { version, live, revision: entry?.revision ?? 0 };
}

/** Builds the write of the version entry; fails if its revision has changed. */
export const putContextVersion = ({ version, live, revision }: ContextVersion): PutEntry => ({
  ...VERSION_ENTRY,
  value: toEntryText({ live, version }),
  basedOn: revision,
});

/** An entry as it was read; `kept` is undefined if it does not exist. */
export interface EntrySnapshot {
  readonly kept: StoredItemRef | undefined;
  readonly revision: number;
}

const entrySnapshotOf = (entry: EntryRow | undefined): EntrySnapshot => ({
  kept: entryValue<StoredItemRef>(entry),
  revision: entry?.revision ?? 0,
});

/** The entries of an item as they were read: live and retired. */
export interface ItemSnapshot {
  readonly live: EntrySnapshot;
  readonly retired: EntrySnapshot;
}

/** Reads both entries of an item. */
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

/** Builds the writes that make this memory the current version and remove a retirement, if any. */
export const putLive = (item: ItemName, seen: ItemSnapshot, kept: StoredItemRef): PutEntry[] => [
  put(LIVE, item, seen.live, kept),
  ...(seen.retired.kept === undefined ? [] : [put(RETIRED, item, seen.retired, undefined)]),
];

/** Builds the writes that retire an item; the memory contains the reason. */
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

/** Builds the write of a version's change. */
export const putChange = (version: number, change: StoredChange): PutEntry => ({
  kind: CHANGE,
  name: versionName(version),
  value: toEntryText(change),
  basedOn: 0,
});

/** Returns the change of one version; undefined if there is none. */
export async function changeOf(
  { store, name }: Workspace,
  version: number,
): Promise<StoredChange | undefined> {
  return entryValue<StoredChange>(await store.findEntry(name, CHANGE, versionName(version)));
}

/** Returns the changes after a version, oldest first, at most `limit`. */
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

/** The memory of an item; its data contains the item as it was written. */
type ItemRecord = AuthoredRecord &
  Pick<Memory, "redacted"> & { readonly data?: { readonly item?: ContextBody } };

/** A live item, or only its name if its memory was redacted or quarantined. */
export type LiveItem =
  | { readonly kind: "item"; readonly item: ContextItem; readonly row: MemoryRow }
  | (ItemName & StoredItemRef & { readonly kind: "redacted" | "quarantined" });

/** Reads all live items from the store, so that a redaction or quarantine takes effect at once. */
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

/** Reads one live item; undefined if it does not exist. */
export async function liveItem(
  workspace: Workspace,
  item: ItemName,
): Promise<LiveItem | undefined> {
  const { store, name } = workspace;
  const kept = entryValue<StoredItemRef>(await store.findEntry(name, LIVE, entryName(item)));
  if (kept === undefined) return undefined;
  return readItemVersion(workspace, { ...item, ...kept });
}

/** Reads the given version of an item. */
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
  if (row === undefined)
    throw new Error(`memory ${memory} of a shared context item does not exist`);
  const { data, redacted, agent, createdAt } = parseText<ItemRecord>(row);
  if (redacted !== undefined || data?.item === undefined) return { kind: "redacted", ...gone };
  const item = { ...data.item, version, memory, by: agent, at: createdAt };
  return { kind: "item", item, row };
}

/**
 * Returns the ids that are quarantined. Most workspaces have few marks, so one query for all of them is
 * cheaper than one per item; if there are more than a page of marks, each item is looked up.
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
