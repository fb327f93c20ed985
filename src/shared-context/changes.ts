/**
 * Lists the changes of the shared context since a version, and all versions of one item. If the memory of a
 * change was redacted or quarantined since, the change is listed without its content.
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

/** Input of contextChanges(). */
export const ChangesQuerySchema = z.strictObject({
  /** A version of the whole context: `next` or `version` of an earlier result. Default: 0. */
  after: z.int().min(0).optional(),
  /** Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
});

export type ContextChangesQuery = z.input<typeof ChangesQuerySchema>;

/** One change of one item. */
export interface ContextChange extends ItemName {
  readonly kind: "set" | "retired";
  readonly version: number;
  /** The version the item had before; absent for a new item. */
  readonly was?: number;
  /** The id of the memory that stores the change. */
  readonly memory: string;
  readonly by: string;
  readonly at: number;
  /** The item after the change; absent if it was retired, redacted or quarantined. */
  readonly item?: ContextBody;
  /** Why it was retired, or the reason of the proposal. */
  readonly reason?: string;
  /** The key of the decision that was retired because this one supersedes it. */
  readonly replaced?: string;
  /** Keys of conflicting decisions that the writer accepted. */
  readonly despite?: readonly string[];
  /** Why the content is missing. */
  readonly hidden?: "redacted" | "quarantined";
}

/** A page of changes, oldest first. */
export interface ContextChanges extends Page<ContextChange, number> {
  /** The version after these changes; pass it as `after` to get later ones. */
  readonly version: number;
}

/** Returns the changes after a version, oldest first. Throws `invalid_input` for a future version. */
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

/** The version is from another store, or from before a backup was restored: changes since are unknown. */
function unknownVersion(after: number, now: number): BatonError {
  return new BatonError("invalid_input", {
    message: `Invalid after ${after}: the shared context is only at version ${now}.`,
    path: "after",
    hint: "Read the shared context again, and continue from its version.",
    details: { after, version: now },
  });
}

/** Input of itemHistory(). */
export const HistorySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z.int().positive().optional(),
  /** Default and maximum: `pageSize`. */
  limit: z.int().positive().optional(),
});
export type ContextHistoryQuery = z.input<typeof HistorySchema>;

/**
 * Returns the versions of an item, newest first, including those before a retirement. Throws
 * `not_in_context` if the item never existed.
 */
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
    // The item was retired because another decision superseded it.
    const fields = own ? {} : { kind: "retired" as const, key: item.key, was };
    kept.push({ ...change, ...fields, version: at });
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
        ...(kind === "retired" && item !== undefined && { reason: `superseded by ${item.key}` }),
      },
    ];
  });
}

const isRedacted = ({ redacted }: Pick<Memory, "redacted">): boolean => redacted !== undefined;
