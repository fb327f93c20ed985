/**
 * What changed in the shared context since a version, and every version one item had. Told in order; of
 * what was redacted or quarantined since, that it was.
 */

import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { checkLimit } from "../base/limits.ts";
import type { Page } from "../base/page.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { marksOf } from "../memory/quarantine/quarantine-mark.ts";
import { type Memory, memoryOf } from "../memory/record.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { notInContext } from "./errors.ts";
import type { ContextBody } from "./items.ts";
import {
  changeOf,
  changesAfter,
  type ItemName,
  readContextVersion,
  readItemSnapshot,
  type StoredChange,
} from "./stored-items.ts";

export const ChangesQuerySchema = z.strictObject({
  /** A version of the whole: the `next` or `version` of an earlier answer. Default: 0. */
  after: z.int().min(0).optional(),
  limit: z.int().positive().default(100),
});

export type ContextChangesQuery = z.input<typeof ChangesQuerySchema>;

/** One change of one item. */
export interface ContextChange extends ItemName {
  readonly kind: "set" | "retired";
  readonly version: number;
  /** The version the item had before; absent for a new item. */
  readonly was?: number;
  readonly memory: string;
  readonly by: string;
  readonly at: number;
  /** What it says since, unless it was retired or taken away. */
  readonly item?: ContextBody;
  /** Why it was retired, or what a proposal gave as its reason. */
  readonly reason?: string;
  /** A decision that was retired with it, because this one takes its place. */
  readonly replaced?: string;
  /** Decisions it was written in spite of. */
  readonly despite?: readonly string[];
  readonly hidden?: "redacted" | "quarantined";
}

/** Changes, oldest first. */
export interface ContextChanges extends Page<ContextChange, number> {
  /** The version these changes lead to: pass it as `after` later to get what changed since. */
  readonly version: number;
}

export async function contextChanges(
  workspace: Workspace,
  query: ContextChangesQuery = {},
): Promise<ContextChanges> {
  const { after = 0, limit } = parseOrThrow(ChangesQuerySchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const { version: now } = await readContextVersion(workspace);
  if (after > now) throw unknownVersion(after, now);
  const kept = after === now ? [] : await changesAfter(workspace, after, limit);
  const version = kept.at(-1)?.version ?? now;
  const items = await describeChanges(workspace, kept);
  return { items, version, ...(version < now && { next: version }) };
}

/** Another store's, or one from before a backup was restored: nothing can be told since then. */
function unknownVersion(after: number, now: number): BatonError {
  return new BatonError("invalid_input", {
    message: `after: the shared context is at version ${now}, and never was at ${after}.`,
    path: "after",
    hint: "Read it anew, and go on from the version that tells.",
    details: { after, version: now },
  });
}

export const HistorySchema = z.strictObject({
  /** The `next` of the page before. */
  after: z.int().positive().optional(),
  /** Default: `pageSize`. */
  limit: z.int().positive().optional(),
});
export type ContextHistoryQuery = z.input<typeof HistorySchema>;

/** Every version of an item, newest first; also before it was retired. */
export async function itemHistory(
  workspace: Workspace,
  item: ItemName,
  query: ContextHistoryQuery = {},
): Promise<Page<ContextChange, number>> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const { after, limit = workspace.limits.pageSize } = parseOrThrow(HistorySchema, query, how);
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const { live, retired } = await readItemSnapshot(workspace, item);
  let at = after ?? live.kept?.version ?? retired.kept?.version ?? 0;
  if (at === 0) throw await notInContext(workspace, item);
  const kept: VersionedChange[] = [];
  while (at > 0 && kept.length < limit) {
    const change = await changeOf(workspace, at);
    if (change === undefined) break;
    const own = change.key === item.key && change.section === item.section;
    const { was, retired = 0 } = own ? change : { was: change.replaced?.was ?? 0 };
    // It went because another took its place.
    const said = own ? {} : { kind: "retired" as const, key: item.key, was };
    kept.push({ ...change, ...said, version: at });
    at = was === 0 ? retired : was;
  }
  const items = await describeChanges(workspace, kept);
  return at > 0 && kept.length === limit ? { items, next: at } : { items };
}

type VersionedChange = StoredChange & { readonly version: number };

interface ChangeData {
  readonly item?: ContextBody;
  readonly reason?: string;
  readonly despite?: readonly string[];
}

async function describeChanges(
  workspace: Workspace,
  kept: readonly VersionedChange[],
): Promise<readonly ContextChange[]> {
  const { store, name } = workspace;
  const ids = [...new Set(kept.map(({ memory }) => memory))];
  const [rows, marks] = await Promise.all([
    ids.length === 0 ? [] : store.readMemories(name, ids),
    marksOf(workspace, ids),
  ]);
  const byId = new Map(rows.map((row) => [row.id, memoryOf(row)]));
  return kept.flatMap((change): ContextChange[] => {
    const memory = byId.get(change.memory);
    if (memory === undefined) return [];
    const { section, key, kind, version, was, replaced } = change;
    const instead =
      replaced === undefined || replaced.key === key ? {} : { replaced: replaced.key };
    const before = was === 0 ? {} : { was };
    const said = { section, key, kind, version, ...before, ...instead };
    const common = { ...said, memory: memory.id, by: memory.agent, at: memory.createdAt };
    if (marks.has(memory.id)) return [{ ...common, hidden: "quarantined" }];
    if (isRedacted(memory)) return [{ ...common, hidden: "redacted" }];
    const { item, reason, despite } = (memory.data ?? {}) as ChangeData;
    return [
      {
        ...common,
        ...(kind === "set" && item !== undefined && { item }),
        ...(reason !== undefined && { reason }),
        ...(despite !== undefined && { despite }),
        ...(kind === "retired" && item !== undefined && { reason: `${item.key} takes its place` }),
      },
    ];
  });
}

const isRedacted = ({ redacted }: Pick<Memory, "redacted">): boolean => redacted !== undefined;
