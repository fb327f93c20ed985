/**
 * Writes a change to the shared context: one memory plus the entries that make it current, in one write. A
 * change names the version it is based on; if the item has changed since, the write is refused with the
 * current version. Concurrent writers of different items both succeed: the second reads again first, so
 * that every decision is checked against all decisions written before it.
 */

import { clip } from "../base/clip.ts";
import { canonicalJson } from "../base/digest.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { leaseLost } from "../history/lease-lost.ts";
import { SHARED_TAG } from "../memory/keepers.ts";
import { type Author, type MemoryInput, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import type { Lease, PutEntry } from "../store/store.ts";
import { RETRY, retryWrite } from "../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../workspace/workspace.ts";
import { type Contradiction, contradictionsOf, type LiveDecision } from "./contradictions.ts";
import { contextConflict, contradictionError, notInContext, tooMany } from "./errors.ts";
import { type ContextBody, type ContextItem, itemTextOf, MEMORY_TYPE, nameOf } from "./items.ts";
import {
  type ContextVersion,
  type ItemName,
  type ItemSnapshot,
  liveItems,
  putChange,
  putContextVersion,
  putLive,
  putRetired,
  readContextVersion,
  readItemSnapshot,
  readItemVersion,
  type StoredChange,
} from "./stored-items.ts";

/** Options of a write, besides the item. */
export interface WriteOptions {
  /** The version of the item that the writer read; absent for a new item. */
  readonly basedOn?: number | undefined;
  /** Keys of conflicting decisions that the writer accepts. */
  readonly despite?: readonly string[] | undefined;
  /** Why the item is retired, or the reason of a proposal; stored with the memory. */
  readonly reason?: string | undefined;
  /** The lease of the work that proposed the change, and the entry that marks the proposal as applied. */
  readonly under?: {
    readonly lease: Lease;
    readonly entry: (kept: { readonly memory: string; readonly version: number }) => PutEntry;
  };
}

/** Sets an item, or retires it with a reason. */
export type ItemChange =
  | { readonly kind: "set"; readonly item: ContextBody }
  | { readonly kind: "retired"; readonly item: ItemName; readonly reason: string };

/** The new version, its memory and its time (ms since the epoch). */
export interface WriteResult {
  readonly version: number;
  readonly memory: string;
  readonly at: number;
}

/** The state that one attempt is based on, all of it read at one version. */
interface ContextSnapshot {
  readonly whole: ContextVersion;
  readonly seen: ItemSnapshot;
  /** The decision that this change supersedes. */
  readonly replaced?: { readonly key: string; readonly seen: ItemSnapshot };
  /** Conflicting decisions that the writer accepted. */
  readonly despite: readonly Contradiction[];
}

/**
 * Writes a change and returns its version. Throws `context_conflict`, `not_in_context`, `contradiction`,
 * `limit_exceeded` or `lease_lost`; retries up to 200 times if other items change at the same time.
 */
export async function writeItemChange(
  workspace: Workspace,
  by: Author,
  change: ItemChange,
  writing: WriteOptions = {},
): Promise<WriteResult> {
  // The shared context is always on the main branch, whichever branch its writer works on.
  const trunk = onMainBranch(workspace);
  return retryWrite({ what: "The shared context was changed", attempts: 200 }, async () => {
    const looked = await readContextSnapshot(trunk, by, change, writing);
    if ("written" in looked) return looked.written;
    const written = await append(trunk, by, { change, writing, snapshot: looked });
    return written ?? RETRY;
  });
}

async function readContextSnapshot(
  workspace: Workspace,
  by: Author,
  change: ItemChange,
  writing: WriteOptions,
): Promise<ContextSnapshot | { readonly written: WriteResult }> {
  // Read first: everything read after it is at least as new, or the write is refused.
  const whole = await readContextVersion(workspace);
  const { item } = change;
  const seen = await readItemSnapshot(workspace, item);
  const version = seen.live.kept?.version;
  if (change.kind === "retired" && version === undefined) {
    throw await notInContext(workspace, item);
  }
  if (version !== writing.basedOn) {
    const before = await findEarlierWrite(workspace, by, change, {
      seen,
      basedOn: writing.basedOn,
    });
    if (before !== undefined) return { written: before };
    throw await contextConflict(workspace, item, { now: version, basedOn: writing.basedOn });
  }
  const replaced = await findReplacedDecision(workspace, change);
  const isMore = version === undefined && replaced === undefined;
  if (isMore && whole.live >= FORMAT_LIMITS.contextItems) throw tooMany(whole.live);
  const despite = await checkContradictions(workspace, change, writing.despite ?? []);
  return { whole, seen, despite, ...(replaced && { replaced }) };
}

/**
 * Returns the decision that a change supersedes; undefined if that one is already retired. Throws
 * `not_in_context` if it never existed.
 */
export async function findReplacedDecision(
  workspace: Workspace,
  change: ItemChange,
): Promise<ContextSnapshot["replaced"]> {
  if (change.kind !== "set" || change.item.section !== "decisions") return undefined;
  const { key: own, supersedes: key = own } = change.item;
  if (key === own) return undefined;
  const other = { section: "decisions", key } as const;
  const seen = await readItemSnapshot(workspace, other);
  if (seen.live.kept !== undefined) return { key, seen };
  // A retired decision needs no replacement; one that never existed cannot be superseded.
  if (seen.retired.kept === undefined) throw await notInContext(workspace, other);
  return undefined;
}

/** Returns the conflicts that the writer accepted; throws `contradiction` for any other. */
async function checkContradictions(
  workspace: Workspace,
  { kind, item }: ItemChange,
  despite: readonly string[],
): Promise<readonly Contradiction[]> {
  if (kind !== "set" || item.section !== "decisions") return [];
  const found = contradictionsOf(item, await liveDecisions(workspace));
  const unaccepted = found.filter(({ key }) => !despite.includes(key));
  if (unaccepted.length > 0) throw contradictionError(item, unaccepted);
  return found;
}

/** Returns the active decisions. */
export async function liveDecisions(workspace: Workspace): Promise<readonly LiveDecision[]> {
  const live = await liveItems(workspace, ["decisions"]);
  return live.flatMap((each) =>
    each.kind === "item" && each.item.section === "decisions" ? [each.item] : [],
  );
}

/**
 * Finds the result of the same write sent earlier, for a writer that never got the answer: the same item,
 * by the same agent, based on the same version.
 */
async function findEarlierWrite(
  workspace: Workspace,
  { agent }: Author,
  change: ItemChange,
  { seen, basedOn = 0 }: { readonly seen: ItemSnapshot; readonly basedOn?: number | undefined },
): Promise<WriteResult | undefined> {
  const { kept } = seen.live;
  if (kept === undefined || change.kind !== "set") return undefined;
  const now = await readItemVersion(workspace, { ...change.item, ...kept });
  if (now.kind !== "item" || now.item.by !== agent) return undefined;
  const { version, memory, by: _by, at, ...body } = now.item;
  const was = (JSON.parse(now.row.text) as { data: { was: number } }).data.was;
  const same = (value: unknown): string => canonicalJson(value, "invalid_input");
  return was === basedOn && same(body) === same(change.item) ? { version, memory, at } : undefined;
}

interface Writes {
  readonly change: ItemChange;
  readonly writing: WriteOptions;
  readonly snapshot: ContextSnapshot;
}

/** Writes memory and entries; returns undefined, with nothing written, if another writer was first. */
async function append(
  workspace: Workspace,
  by: Author,
  { change, writing, snapshot: looked }: Writes,
): Promise<WriteResult | undefined> {
  const { store, name, branch, ids, clock, limits } = workspace;
  const version = looked.whole.version + 1;
  const id = ids.mint("memory");
  const input = { id, ...recordOf(by, change, version, { writing, snapshot: looked }) };
  const { record, authored } = writeRecord(by, input, { ids, now: clock.now(), limits, branch });
  const outcome = await store.appendMemories({
    workspace: name,
    branch,
    memories: [record],
    entries: entriesFor(change, { memory: id, version }, looked, writing),
    ...(writing.under && { lease: writing.under.lease }),
  });
  switch (outcome.kind) {
    case "appended":
      return { version, memory: id, at: authored.createdAt };
    case "entry_changed":
      return undefined;
    case "lease_lost":
      throw leaseLost(writing.under?.lease.delivery ?? "", outcome.delivery);
    case "tip_moved":
      throw new Error("unexpected outcome of writing a shared context item: tip_moved");
    default:
      throw await refusalError(workspace, outcome);
  }
}

function entriesFor(
  change: ItemChange,
  kept: { readonly memory: string; readonly version: number },
  { whole, seen, replaced }: ContextSnapshot,
  { under }: WriteOptions,
): PutEntry[] {
  const { section, key } = change.item;
  const was = seen.live.kept?.version ?? 0;
  const other = replaced && { key: replaced.key, was: replaced.seen.live.kept?.version ?? 0 };
  const said: StoredChange = {
    section,
    key,
    kind: change.kind,
    memory: kept.memory,
    was,
    ...(seen.retired.kept && { retired: seen.retired.kept.version }),
    ...(other && { replaced: other }),
  };
  const more = change.kind === "retired" ? -1 : was === 0 ? 1 : 0;
  const live = whole.live + more - (replaced === undefined ? 0 : 1);
  return [
    ...(change.kind === "set"
      ? putLive(change.item, seen, kept)
      : putRetired(change.item, seen, kept)),
    ...(replaced === undefined
      ? []
      : putRetired({ section: "decisions", key: replaced.key }, replaced.seen, kept)),
    putChange(kept.version, said),
    putContextVersion({ ...whole, version: kept.version, live }),
    ...(under === undefined ? [] : [under.entry(kept)]),
  ];
}

function recordOf(
  { agent }: Author,
  change: ItemChange,
  version: number,
  { writing, snapshot: looked }: Pick<Writes, "writing" | "snapshot">,
): MemoryInput {
  const { seen, replaced, despite } = looked;
  const before = [seen.live.kept?.memory, replaced?.seen.live.kept?.memory];
  const relations = [
    ...before.flatMap((to) => (to === undefined ? [] : [{ kind: "supersedes" as const, to }])),
    ...despite.map(({ memory: to }) => ({ kind: "contradicts" as const, to })),
  ];
  const fields = {
    version,
    was: seen.live.kept?.version ?? 0,
    ...(despite.length > 0 && { despite: despite.map(({ key }) => key) }),
    ...(writing.reason !== undefined && { reason: writing.reason }),
  };
  const common = { tags: [SHARED_TAG], ...(relations.length > 0 && { relations }) };
  if (change.kind === "retired") {
    const { section, key } = change.item;
    return {
      ...common,
      type: "action",
      content: `${agent} retired ${nameOf(change.item)} from the shared context: ${change.reason}`,
      data: { ...fields, retired: { section, key }, reason: change.reason },
    };
  }
  const { item } = change;
  return {
    ...common,
    type: MEMORY_TYPE[item.section],
    content: clip(itemTextOf(item), FORMAT_LIMITS.contentLength),
    data: { ...fields, item },
    ...(item.section === "decisions" && item.task !== undefined && { task: item.task }),
  };
}

/** Returns the written item as later reads return it. */
export const itemOf = (item: ContextBody, by: Author, written: WriteResult): ContextItem => ({
  ...item,
  ...written,
  by: by.agent,
});
