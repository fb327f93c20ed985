/** Reading back: one record, the most recent ones, and the edges around one. */
import * as z from "zod";
import { AgentName, MemoryId, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { checkLimit } from "../limits.ts";
import type { RelationEdge } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import { requireAgent } from "./agents.ts";
import { type Memory, memoryOf, RELATION_KINDS } from "./record.ts";

export async function readMemory(workspace: Workspace, id: string): Promise<Memory> {
  const checked = parseOr(MemoryId, id, {
    code: "invalid_input",
    what: "The memory id",
    prefix: "id",
  });
  const [row] = await workspace.store.readMemories(workspace.name, [checked]);
  if (row !== undefined) return memoryOf(row);
  throw new BatonError("unknown_memory", {
    message: `No memory has the id ${checked} in workspace "${workspace.name}".`,
    path: "id",
    hint: "Check the id and the workspace.",
  });
}

const Label = z.string().min(1);

const RecentSchema = z.strictObject({
  agent: AgentName.optional(),
  /** The sequence number to go back from: the cursor for the next page. */
  before: z.int().positive().optional(),
  limit: z.int().positive().default(20),
  session: Label.optional(),
  tag: Label.optional(),
  task: Name.optional(),
  type: Label.optional(),
});

export type RecentQuery = z.input<typeof RecentSchema>;

/** The newest records that fit, newest first. */
export async function recentMemories(workspace: Workspace, query: RecentQuery): Promise<Memory[]> {
  const { limit, before, agent, ...facets } = parseOr(RecentSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const author = agent === undefined ? {} : { agent: (await requireAgent(workspace, agent)).id };
  const rows = await workspace.store.recentMemories({
    workspace: workspace.name,
    filter: { branch: workspace.branch, ...author, ...defined(facets) },
    limit,
    ...(before === undefined ? {} : { before }),
  });
  return rows.map(memoryOf);
}

const RelationsSchema = z.strictObject({
  /** Only edges valid at this time, in milliseconds. */
  at: z.int().min(0).optional(),
  /** "in": who points here; "out": where this points. */
  direction: z.enum(["in", "out"]).default("out"),
  kinds: z.array(z.enum(RELATION_KINDS)).optional(),
  limit: z.int().positive().default(100),
});

export type RelationsQuery = z.input<typeof RelationsSchema>;

/** The edges at a memory, oldest first. */
export async function relationsOf(
  workspace: Workspace,
  memory: string,
  query: RelationsQuery,
): Promise<readonly RelationEdge[]> {
  const { id } = await readMemory(workspace, memory);
  const { limit, direction, ...filter } = parseOr(RelationsSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  return workspace.store.findRelations({
    workspace: workspace.name,
    memory: id,
    direction,
    limit,
    ...defined(filter),
  });
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Leaves out what was not asked for: an absent filter is no filter. */
function defined<T extends object>(value: T): Partial<Defined<T>> {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  ) as Partial<Defined<T>>;
}
