/** The query for exporting memories, and reading the visible memories one by one. */
import * as z from "zod";
import { BranchName, Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { requireBranch } from "../memory/branches/branches.ts";
import { type Memory, memoryOf } from "../memory/record.ts";
import { visibilityOf } from "../memory/visibility.ts";
import type { MemoryRow } from "../store/rows.ts";
import { isRowVisible } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The query of `memories.export()` and `memories.exportMarkdown()`. */
export const MemoryExportQuerySchema = z.strictObject({
  /** The branch to read. Default: the branch of the caller. */
  branch: BranchName.optional(),
  task: Name.optional(),
  type: z.string().min(1).optional(),
});

export type MemoryExportQuery = z.input<typeof MemoryExportQuerySchema>;

/**
 * Returns a checked query. Throws `unknown_branch`, because a missing branch is not the same as an empty one.
 */
export async function checkedQuery(
  workspace: Workspace,
  query: MemoryExportQuery,
): Promise<z.output<typeof MemoryExportQuerySchema>> {
  const checked = parseOrThrow(MemoryExportQuerySchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  if (checked.branch !== undefined) await requireBranch(workspace, checked.branch);
  return checked;
}

/** A memory, stored and parsed. */
export interface VisibleMemory {
  readonly row: MemoryRow;
  readonly memory: Memory;
}

/** Yields everything the reader sees from a branch, in the order of storing, at one moment. */
export async function* listVisibleMemories(
  workspace: Workspace,
  branch: string | undefined,
): AsyncGenerator<VisibleMemory> {
  const { name, store } = workspace;
  const sight = await visibilityOf({ ...workspace, branch: branch ?? workspace.branch });
  for await (const item of store.exportWorkspace(name)) {
    if (item.kind === "memory" && isRowVisible(item.row, sight)) {
      yield { row: item.row, memory: memoryOf(item.row) };
    }
    if (item.kind === "envelope") return; // Memories precede all other large kinds.
  }
}

/** Returns true if a memory has the task and type of the query. */
export const matchesQuery = (memory: Memory, { task, type }: MemoryExportQuery): boolean =>
  (task === undefined || memory.task === task) && (type === undefined || memory.type === type);

/** Returns the ids of records that a record supersedes or corrects. */
export const replacedIdsOf = (memory: Memory): string[] =>
  (memory.relations ?? [])
    .filter(({ kind }) => kind === "supersedes" || kind === "corrects")
    .map(({ to }) => to);
