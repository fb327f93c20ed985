/** Which memories somebody wants to have out of a workspace, and reading them one by one. */
import * as z from "zod";
import { BranchName, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { requireBranch } from "../memory/branches/branches.ts";
import { type Memory, memoryOf } from "../memory/record.ts";
import { sightOf } from "../memory/sight.ts";
import type { MemoryRow } from "../store/rows.ts";
import { isSeen } from "../store/sight.ts";
import type { Workspace } from "../workspace/workspace.ts";

export const KeepingQuerySchema = z.strictObject({
  /** What is seen from this branch; else from the one that is worked on. */
  branch: BranchName.optional(),
  task: Name.optional(),
  type: z.string().min(1).optional(),
});

export type KeepingQuery = z.input<typeof KeepingQuerySchema>;

/** A branch that is not there has nothing to show, which is not the same as an empty one. */
export async function checkedQuery(
  workspace: Workspace,
  query: KeepingQuery,
): Promise<z.output<typeof KeepingQuerySchema>> {
  const checked = parseOr(KeepingQuerySchema, query, { code: "invalid_input", what: "The query" });
  if (checked.branch !== undefined) await requireBranch(workspace, checked.branch);
  return checked;
}

export interface SeenMemory {
  readonly row: MemoryRow;
  readonly memory: Memory;
}

/** Everything the reader sees from a branch, in the order of storing, of one moment. */
export async function* seenMemories(
  workspace: Workspace,
  branch: string | undefined,
): AsyncGenerator<SeenMemory> {
  const { name, store } = workspace;
  const sight = await sightOf({ ...workspace, branch: branch ?? workspace.branch });
  for await (const item of store.exportWorkspace(name)) {
    if (item.kind === "memory" && isSeen(item.row, sight)) {
      yield { row: item.row, memory: memoryOf(item.row) };
    }
    if (item.kind === "envelope") return; // Memories come before everything else that is many.
  }
}

export const isWanted = (memory: Memory, { task, type }: KeepingQuery): boolean =>
  (task === undefined || memory.task === task) && (type === undefined || memory.type === type);

/** What a record says is no longer so. */
export const outdatedBy = (memory: Memory): string[] =>
  (memory.relations ?? [])
    .filter(({ kind }) => kind === "supersedes" || kind === "corrects")
    .map(({ to }) => to);
