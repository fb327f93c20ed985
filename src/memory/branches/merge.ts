/**
 * Merges a branch into its base: a record on the base makes everything on the branch, up to its tip, visible
 * there. Records stay where they are, with authors, positions and links. The merge record, the change of
 * the base's entry and the closing are one write: of two concurrent merges one compares again, and a record
 * added to the branch during the merge is never left out.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { MemoryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { CLOSED_BRANCH, type PutEntry } from "../../store/store.ts";
import { isTeamScoped } from "../../store/visibility.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { refuseQuarantined } from "../quarantine/quarantine-mark.ts";
import { type Author, type Memory, type MemoryInput, memoryOf, placedMemory } from "../record.ts";
import { refusalError } from "../refusals.ts";
import { BRANCH, type Merge } from "./branch.ts";
import {
  branchChanged,
  branchClosed,
  requireBranch,
  serializeBranchValue,
  writeBranchRecord,
} from "./branches.ts";
import { type BranchComparison, type Conflict, compareBranch } from "./compare.ts";

/** Options of mergeBranch(). */
export const MergeSchema = z.strictObject({
  /** For each conflict, which of its two memories to keep. */
  resolve: z
    .array(z.strictObject({ keep: MemoryId, over: MemoryId }))
    .max(FORMAT_LIMITS.listItems)
    .default([]),
});

export type MergeOptions = z.input<typeof MergeSchema>;
type Resolution = z.output<typeof MergeSchema>["resolve"][number];

/** The result of a merge: merged, or the conflicts that prevent it. */
export type MergeResult =
  | {
      readonly kind: "merged";
      readonly branch: string;
      readonly into: string;
      /** The position of the last merged record on the branch. */
      readonly tip: number;
      /** The merge record. */
      readonly memory: Memory;
    }
  /** Nothing was changed; pass in `resolve`, for each conflict, which memory to keep. */
  | {
      readonly kind: "conflicts";
      readonly branch: string;
      readonly conflicts: readonly Conflict[];
      /** The number of further conflicts between memories that the caller may not see. */
      readonly hidden: number;
      /** What to do about hidden conflicts; absent if there are none. */
      readonly hint?: string;
    };

const HIDDEN_CONFLICTS_HINT =
  "An agent that may see them has to merge: the author of the private memories on the branch or its base.";

/**
 * Merges a branch. Throws `branch_closed`, `unknown_branch`, `invalid_input` for a resolution that matches no
 * conflict, and `quarantined` if a memory to keep is quarantined.
 */
export async function mergeBranch(
  workspace: Workspace,
  author: Author,
  name: string,
  options: MergeOptions = {},
): Promise<MergeResult> {
  const { resolve } = parseOrThrow(MergeSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  return retryWrite<MergeResult>(branchChanged(name), async () => {
    const compared = await compareBranch(workspace, name);
    const { branch, conflicts, hidden } = compared;
    if (branch.closed !== undefined) throw branchClosed(branch);
    refuseUnusedResolutions(resolve, conflicts);
    const open = conflicts.filter((conflict) => !resolve.some((each) => settles(each, conflict)));
    if (open.length > 0 || hidden > 0) {
      const hint = hidden > 0 ? { hint: HIDDEN_CONFLICTS_HINT } : {};
      return { kind: "conflicts", branch: branch.name, conflicts: open, hidden, ...hint };
    }
    const kept = resolve.map(({ keep: id }, i) => ({ id, path: `resolve[${i}].keep` }));
    await refuseQuarantined(workspace, kept);
    const merged = await write(workspace, author, compared, await addScopes(workspace, resolve));
    return merged ?? RETRY;
  });
}

const settles = ({ keep, over }: Resolution, { branch, base }: Conflict): boolean =>
  (keep === branch && over === base) || (keep === base && over === branch);

/** Throws `invalid_input` for a resolution that matches no conflict, which is probably a mistake. */
function refuseUnusedResolutions(
  resolve: readonly Resolution[],
  conflicts: readonly Conflict[],
): void {
  const at = resolve.findIndex((each) => !conflicts.some((conflict) => settles(each, conflict)));
  if (at < 0) return;
  const { keep, over } = resolve[at] as Resolution;
  throw new BatonError("invalid_input", {
    message: `resolve[${at}]: ${keep} and ${over} are not in conflict.`,
    path: `resolve[${at}]`,
    hint: "List the conflicts with agent.branches.diff(branch).",
  });
}

interface ScopedResolution extends Resolution {
  /** The scope of the resolution if one of the memories is private; undefined if both are public. */
  readonly scope: Pick<MemoryInput, "scope" | "session"> | undefined;
}

/** Adds scopes: all agents see a merge record, but not necessarily the memories it decides about. */
async function addScopes(
  { store, name }: Workspace,
  resolve: readonly Resolution[],
): Promise<ScopedResolution[]> {
  const ids = resolve.flatMap(({ keep, over }) => [keep, over]);
  const rows = ids.length === 0 ? [] : await store.readMemories(name, [...new Set(ids)]);
  const records = new Map(rows.map((row) => [row.id, memoryOf(row)]));
  return resolve.map((each) => {
    const both = [records.get(each.keep), records.get(each.over)];
    return { ...each, scope: scopeFor(both.filter((record) => record !== undefined)) };
  });
}

function scopeFor(records: readonly Memory[]): ScopedResolution["scope"] {
  const closed = records.filter((record) => !isTeamScoped(record));
  const [first] = closed;
  if (first === undefined) return undefined;
  // Two different private scopes: only the merging agent is known to see both.
  const { scope, session } = first;
  if (scope === "agent" || closed.some((each) => each.scope !== scope)) return { scope: "agent" };
  return scope === "session" ? { scope, session } : { scope };
}

/** Writes the merge; returns undefined if the branch or its base changed, and must be compared again. */
async function write(
  workspace: Workspace,
  author: Author,
  { branch, into, tip, lines }: BranchComparison,
  resolve: readonly ScopedResolution[],
): Promise<MergeResult | undefined> {
  const of = { branch: branch.name, into: into.name, tip };
  const view = { ...workspace, branch: into.name };
  const open = resolve.filter(({ scope }) => scope === undefined);
  const mark = writeBranchRecord(view, author, recordOf(author, of, open));
  // Resolutions between private memories go into separate records with their scope.
  const asides = resolve.flatMap((each) =>
    each.scope === undefined
      ? []
      : [writeBranchRecord(view, author, { ...recordOf(author, of, [each]), ...each.scope })],
  );
  const merge = { branch: branch.name, lines, record: mark.memory };
  const merges: readonly Merge[] = [...into.value.merges, merge];
  const actual = merges.flatMap((each) => each.lines).length;
  checkLimit(workspace.limits, "mergedLines", { actual, path: "branch" });
  const closed = serializeBranchValue({ as: "merged", by: author.agent, record: mark.memory });
  const entries: PutEntry[] = [
    {
      kind: BRANCH,
      name: into.name,
      value: serializeBranchValue({ ...into.value, merges }),
      basedOn: into.revision,
    },
    { kind: CLOSED_BRANCH, name: branch.name, value: closed, basedOn: 0 },
  ];
  const outcome = await workspace.store.appendMemories({
    ...mark.operation,
    memories: [mark, ...asides].map(({ written: { record } }) => record),
    entries,
    tip: { branch: branch.name, seq: tip },
  });
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined)
        throw new Error("the store returned no position for a stored record");
      const memory = placedMemory(mark.written, place, into.name);
      return { kind: "merged", branch: branch.name, into: into.name, tip, memory };
    }
    case "entry_changed":
    case "tip_moved":
      return undefined;
    case "branch_closed":
      throw branchClosed(await requireBranch(workspace, outcome.branch));
    case "lease_lost":
      throw new Error("unexpected outcome of writing a merge: lease_lost");
    default:
      throw await refusalError(workspace, outcome);
  }
}

function recordOf(
  { agent }: Author,
  of: { readonly branch: string; readonly into: string; readonly tip: number },
  resolve: readonly Resolution[],
): MemoryInput {
  const kept = resolve.map(({ keep, over }) => ({ keep, over }));
  return {
    type: "merge",
    content: `${agent} merged "${of.branch}" into "${of.into}".`,
    data: { branch: of.branch, tip: of.tip, ...(kept.length === 0 ? {} : { resolved: kept }) },
    ...(resolve.length === 0 ? {} : { refs: [...new Set(resolve.map(({ keep }) => keep))] }),
    relations: [...new Set(resolve.map(({ over }) => over))].map((to) => ({
      kind: "supersedes" as const,
      to,
    })),
  };
}
