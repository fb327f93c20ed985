/**
 * Reads memories: one by id, the most recent ones, and the relations of one. A read by id works on every
 * branch, since ids are passed around, but never across scopes: a memory private to others does not exist
 * for the reader.
 */

import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { checkLimit } from "../base/limits.ts";
import { type Page, pageOf } from "../base/page.ts";
import { AgentName, MemoryId, Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { MemoryRow, RelationEdge } from "../store/rows.ts";
import { VIEW_TYPE } from "../store/search.ts";
import type { RecentMemories } from "../store/store.ts";
import { isRowInScope, type Visibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { requireAgent } from "./agents.ts";
import { type AsOf, AsOfSchema, momentOf } from "./as-of.ts";
import { markOf } from "./quarantine/quarantine-mark.ts";
import { type Memory, memoryOf, RELATION_KINDS } from "./record.ts";
import { findSupersessions } from "./supersession.ts";
import { visibilityOf } from "./visibility.ts";

const ReadSchema = z.strictObject({
  /** Reads as of this moment: memories written later do not exist yet. */
  asOf: AsOfSchema.optional(),
});

type ReadOptions = z.input<typeof ReadSchema>;

/** Returns a memory by id. Throws `unknown_memory` if it does not exist or is not visible. */
export async function readMemory(
  workspace: Workspace,
  id: string,
  options: ReadOptions = {},
): Promise<Memory> {
  const checked = parseOrThrow(MemoryId, id, {
    code: "invalid_input",
    what: "The memory id",
    prefix: "id",
  });
  const { asOf } = parseOrThrow(ReadSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const [row] = await readVisible(workspace, [checked]);
  if (row !== undefined && (await existedAt(workspace, row, asOf))) {
    return withQuarantineMark(workspace, memoryOf(row));
  }
  throw unknownMemory(workspace, checked, "id");
}

/** Builds `unknown_memory`. */
export function unknownMemory({ name }: Workspace, id: string, path: string): BatonError {
  return new BatonError("unknown_memory", {
    message: `No memory has the id ${id} in workspace "${name}".`,
    path,
    hint: "Check the id and the workspace.",
  });
}

/** Returns the rows with these ids that the reader may see, in the given order. */
export async function readVisible(
  { store, name, reader }: Workspace,
  ids: readonly string[],
): Promise<MemoryRow[]> {
  const rows = await store.readMemories(name, ids);
  return rows.filter((row) => isRowInScope(row, reader));
}

async function existedAt(
  workspace: Workspace,
  { branch, seq }: MemoryRow,
  asOf: AsOf | undefined,
): Promise<boolean> {
  if (asOf === undefined) return true;
  const { store, name } = workspace;
  const moment = await momentOf(workspace, asOf);
  const [tip] = await store.findTips({ workspace: name, branches: [branch], moment });
  return seq <= (tip?.seq ?? 0);
}

/** Adds the quarantine mark: a read by id returns a quarantined memory, with the mark. */
async function withQuarantineMark(workspace: Workspace, memory: Memory): Promise<Memory> {
  const quarantined = await markOf(workspace, memory.id);
  return quarantined === undefined ? memory : { ...memory, quarantined };
}

const Label = z.string().min(1);

/** Input of recentMemories(). */
export const RecentSchema = z.strictObject({
  agent: AgentName.optional(),
  /** The moment to look back to. Default: now. */
  asOf: AsOfSchema.optional(),
  /** The `next` of the previous page: returns memories older than this one. */
  after: MemoryId.optional(),
  /** Default: 20; at most `pageSize`. */
  limit: z.int().positive().default(20),
  session: Label.optional(),
  tag: Label.optional(),
  task: Name.optional(),
  type: Label.optional(),
});

export type RecentQuery = z.input<typeof RecentSchema>;

/** A memory, and whether it was replaced. */
export interface RecentMemory extends Memory {
  /** Present if it was superseded or corrected; `by` is the current version, if one is visible. */
  readonly superseded?: { readonly by?: string };
}

/** Returns the newest matching memories; those that are no longer current are marked. */
export async function recentMemories(
  workspace: Workspace,
  query: RecentQuery,
): Promise<Page<RecentMemory>> {
  const { page, sight } = await findRecent(workspace, query);
  return { ...page, items: await withState(workspace, sight, page.items) };
}

/** Returns the newest matching memories without checking whether they are current. */
export const recentRecords = async (
  workspace: Workspace,
  query: RecentQuery,
): Promise<Page<Memory>> => (await findRecent(workspace, query)).page;

async function findRecent(
  workspace: Workspace,
  query: RecentQuery,
): Promise<{ readonly page: Page<Memory>; readonly sight: Visibility }> {
  const {
    limit,
    after: before,
    agent,
    asOf,
    ...facets
  } = parseOrThrow(RecentSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const author = agent === undefined ? {} : { agent: (await requireAgent(workspace, agent)).id };
  if (before !== undefined && (await readVisible(workspace, [before])).length === 0) {
    throw unknownMemory(workspace, before, "after");
  }
  const look = {
    workspace: workspace.name,
    sight: await visibilityOf(workspace, { asOf }),
    filter: { ...author, ...defined(facets) },
    limit: limit + 1,
  };
  const found =
    facets.type === undefined
      ? await readRecentWithoutViews(workspace, look, before)
      : (await workspace.store.recentMemories({ ...look, ...beforeCursor(before) })).map(memoryOf);
  return { page: pageOf(found, limit, ({ id }) => id), sight: look.sight };
}

/** Adds `superseded`. Records with a trail are never replaced, so only the others are looked up. */
async function withState(
  workspace: Workspace,
  sight: Visibility,
  found: readonly Memory[],
): Promise<RecentMemory[]> {
  const facts = found.filter(({ trail }) => trail === undefined).map(({ id }) => id);
  if (facts.length === 0) return [...found];
  const became = await findSupersessions(workspace, sight, facts);
  return found.map((memory) => {
    const { replaced = false, by } = became.get(memory.id) ?? {};
    if (!replaced) return memory;
    return { ...memory, superseded: by === undefined ? {} : { by: by.id } };
  });
}

const beforeCursor = (before: string | undefined): { readonly before?: string } =>
  before === undefined ? {} : { before };

/** Reads recent memories except views, which only repeat other memories; `type` still finds them. */
async function readRecentWithoutViews(
  { store }: Workspace,
  look: RecentMemories,
  before: string | undefined,
): Promise<Memory[]> {
  const news: Memory[] = [];
  for (let from = before; ; ) {
    const page = (await store.recentMemories({ ...look, ...beforeCursor(from) })).map(memoryOf);
    news.push(...page.filter(({ type }) => type !== VIEW_TYPE));
    from = page.at(-1)?.id;
    if (page.length < look.limit || news.length >= look.limit) return news.slice(0, look.limit);
  }
}

/** Input of relationsOf(). */
export const RelationsSchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
  /** The moment to look back to: relations stated later are not included. Default: now. */
  asOf: AsOfSchema.optional(),
  /** Only relations valid at this time, in ms since the epoch. */
  at: z.int().min(0).optional(),
  /** "in": relations that point to the memory; "out": its own relations. Default: "out". */
  direction: z.enum(["in", "out"]).default("out"),
  kinds: z.array(z.enum(RELATION_KINDS)).optional(),
  /** Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
});

export type RelationsQuery = z.input<typeof RelationsSchema>;

/** A relation between two memories. */
export interface Relation {
  readonly kind: string;
  /** The memory that states it. */
  readonly source: string;
  readonly target: string;
  /** When it starts to be valid, in ms since the epoch; absent if unlimited. */
  readonly validFrom?: number;
  /** When it ends to be valid, in ms since the epoch; absent if unlimited. */
  readonly validUntil?: number;
}

/** Returns the relations of a memory, oldest first. */
export async function relationsOf(
  workspace: Workspace,
  memory: string,
  query: RelationsQuery,
): Promise<Page<Relation>> {
  const {
    after = "0",
    limit,
    direction,
    asOf,
    ...filter
  } = parseOrThrow(RelationsSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  const { id } = await readMemory(workspace, memory, { asOf });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  // Relations are only ever appended in order, so an offset is a stable cursor.
  const passed = Number(after);
  const edges = await workspace.store.findRelations({
    workspace: workspace.name,
    memory: id,
    direction,
    sight: await visibilityOf(workspace, { asOf }),
    limit: passed + limit + 1,
    ...defined(filter),
  });
  const relations = edges.slice(passed).map(relationOf);
  return pageOf(relations, limit, () => String(passed + limit));
}

const relationOf = ({ kind, source, target, validFrom, validUntil }: RelationEdge): Relation => ({
  kind,
  source,
  target,
  ...(validFrom === 0 ? {} : { validFrom }),
  ...(validUntil === 0 ? {} : { validUntil }),
});

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Removes undefined fields, so that they are not used as filters. */
function defined<T extends object>(value: T): Partial<Defined<T>> {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  ) as Partial<Defined<T>>;
}
