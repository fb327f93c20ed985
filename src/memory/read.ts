/**
 * Reading back: one record, the most recent ones, and the edges around one. By its id a record is read
 * on whatever branch it is, since ids are handed on; across scopes never: what is private to others is
 * not there.
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
  /** As it was then: what was written later is not there yet. */
  asOf: AsOfSchema.optional(),
});

type ReadOptions = z.input<typeof ReadSchema>;

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

export function unknownMemory({ name }: Workspace, id: string, path: string): BatonError {
  return new BatonError("unknown_memory", {
    message: `No memory has the id ${id} in workspace "${name}".`,
    path,
    hint: "Check the id and the workspace.",
  });
}

/** The records with these ids that the reader may see, in the order asked for. */
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

/** By its id a record is read whatever became of it, and says so. */
async function withQuarantineMark(workspace: Workspace, memory: Memory): Promise<Memory> {
  const quarantined = await markOf(workspace, memory.id);
  return quarantined === undefined ? memory : { ...memory, quarantined };
}

const Label = z.string().min(1);

export const RecentSchema = z.strictObject({
  agent: AgentName.optional(),
  /** What was seen then. */
  asOf: AsOfSchema.optional(),
  /** The `next` of the page before: the memory to go back from. */
  after: MemoryId.optional(),
  limit: z.int().positive().default(20),
  session: Label.optional(),
  tag: Label.optional(),
  task: Name.optional(),
  type: Label.optional(),
});

export type RecentQuery = z.input<typeof RecentSchema>;

/** A record, and what became of it. */
export interface RecentMemory extends Memory {
  /** It was superseded or corrected: by the record that holds now, where there is one. */
  readonly superseded?: { readonly by?: string };
}

/** Returns the newest memories that fit; those that are no longer current are marked. */
export async function recentMemories(
  workspace: Workspace,
  query: RecentQuery,
): Promise<Page<RecentMemory>> {
  const { page, sight } = await findRecent(workspace, query);
  return { ...page, items: await withState(workspace, sight, page.items) };
}

/** Returns the same without asking what became of each. */
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

/** Records of what moved work are never replaced: only the others are looked up. */
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

/** Without what was only shown to somebody: that is no news of its own, and found when it is asked for. */
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

export const RelationsSchema = z.strictObject({
  /** The `next` of the page before. */
  after: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
  /** What was seen then: edges that were drawn later are not there yet. */
  asOf: AsOfSchema.optional(),
  /** Only edges valid at this time, in milliseconds. */
  at: z.int().min(0).optional(),
  /** "in": who points here; "out": where this points. */
  direction: z.enum(["in", "out"]).default("out"),
  kinds: z.array(z.enum(RELATION_KINDS)).optional(),
  limit: z.int().positive().default(100),
});

export type RelationsQuery = z.input<typeof RelationsSchema>;

/** A relation between two memories. */
export interface Relation {
  readonly kind: string;
  /** The memory that states it. */
  readonly source: string;
  readonly target: string;
  /** When it begins; absent: open. */
  readonly validFrom?: number;
  /** When it ends; absent: open. */
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
  // Edges are only ever added, in order: a number of them says where a page begins.
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

/** Leaves out what was not asked for: an absent filter is no filter. */
function defined<T extends object>(value: T): Partial<Defined<T>> {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  ) as Partial<Defined<T>>;
}
