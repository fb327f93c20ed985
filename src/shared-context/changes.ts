/**
 * What changed in the shared context since a version, and every version one item had. Told in order; of
 * what was redacted or quarantined since, that it was.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { checkLimit } from "../base/limits.ts";
import { parseOr } from "../envelope/violations.ts";
import { marksOf } from "../memory/quarantine/quarantine-mark.ts";
import { type AuthoredRecord, type Memory, memoryOf } from "../memory/record.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { notInContext } from "./errors.ts";
import type { ContextBody } from "./items.ts";
import {
  changeOf,
  changesAfter,
  type ItemName,
  type KeptChange,
  seenItem,
  wholeOf,
} from "./stored-items.ts";

export const ChangesQuerySchema = z.strictObject({
  limit: z.int().positive().default(100),
  /** A version of the whole, as reading told it. */
  since: z.int().min(0).optional(),
});

export type ContextChangesQuery = z.input<typeof ChangesQuerySchema>;

/** One change of one item. */
export interface ContextChange extends ItemName {
  readonly kind: "set" | "retired";
  readonly version: number;
  /** The version the item had before; 0: there was none. */
  readonly was: number;
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

export interface ContextChanges {
  readonly since: number;
  /** What is told goes up to here: the next `since`. */
  readonly version: number;
  /** Oldest first. */
  readonly changes: readonly ContextChange[];
  /** Whether there are more. */
  readonly more: boolean;
}

export async function contextChanges(
  workspace: Workspace,
  query: ContextChangesQuery = {},
): Promise<ContextChanges> {
  const { limit, since = 0 } = parseOr(ChangesQuerySchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const { version: now } = await wholeOf(workspace);
  if (since > now) throw beyond(since, now);
  const kept = since === now ? [] : await changesAfter(workspace, since, limit);
  const version = kept.at(-1)?.version ?? now;
  const changes = await described(workspace, kept);
  return { since, version, changes, more: version < now };
}

/** Another store's, or one from before a backup was restored: nothing can be told since then. */
function beyond(since: number, now: number): BatonError {
  return new BatonError("invalid_input", {
    message: `since: the shared context is at version ${now}, and never was at ${since}.`,
    path: "since",
    hint: "Read it anew, and go on from the version that tells.",
    details: { since, version: now },
  });
}

/** Every version of an item, newest first, a page at most; also before it was retired. */
export async function itemHistory(
  workspace: Workspace,
  item: ItemName,
): Promise<readonly ContextChange[]> {
  const { live, retired } = await seenItem(workspace, item);
  let at = live.kept?.version ?? retired.kept?.version ?? 0;
  if (at === 0) throw await notInContext(workspace, item);
  const kept: Kept[] = [];
  while (at > 0 && kept.length < workspace.limits.pageSize) {
    const change = await changeOf(workspace, at);
    if (change === undefined) break;
    const own = change.key === item.key && change.section === item.section;
    const { was, retired = 0 } = own ? change : { was: change.replaced?.was ?? 0 };
    // It went because another took its place.
    const said = own ? {} : { kind: "retired" as const, key: item.key, was };
    kept.push({ ...change, ...said, version: at });
    at = was === 0 ? retired : was;
  }
  return described(workspace, kept);
}

type Kept = KeptChange & { readonly version: number };

interface Said {
  readonly item?: ContextBody;
  readonly reason?: string;
  readonly despite?: readonly string[];
}

async function described(
  workspace: Workspace,
  kept: readonly Kept[],
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
    const said = { section, key, kind, version, was, ...instead };
    const common = { ...said, memory: memory.id, by: memory.agent, at: memory.createdAt };
    if (marks.has(memory.id)) return [{ ...common, hidden: "quarantined" }];
    if (isRedacted(memory)) return [{ ...common, hidden: "redacted" }];
    const { item, reason, despite } = (memory.data ?? {}) as Said;
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

const isRedacted = ({ redacted }: AuthoredRecord & Pick<Memory, "redacted">): boolean =>
  redacted !== undefined;
