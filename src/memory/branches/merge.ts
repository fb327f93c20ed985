/**
 * Merging a branch: one record on the base says that everything on the branch, up to its tip, is seen from
 * there too. Records stay where they are, with their authors, places and links. The record, the change of
 * the registry and the end of the branch are one write: of two merges at once one redoes its comparison,
 * and nothing is added to a branch while it is merged that the merge does not take over.
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

export const MergeSchema = z.strictObject({
  /** For each conflict, which of its two records holds from now on. */
  resolve: z
    .array(z.strictObject({ keep: MemoryId, over: MemoryId }))
    .max(FORMAT_LIMITS.listItems)
    .default([]),
});

export type MergeOptions = z.input<typeof MergeSchema>;
type Resolution = z.output<typeof MergeSchema>["resolve"][number];

export type MergeResult =
  | {
      readonly kind: "merged";
      readonly branch: string;
      readonly into: string;
      /** The branch's last record that was taken over, by its number. */
      readonly tip: number;
      /** The record that says so. */
      readonly memory: Memory;
    }
  /** Nothing was changed: say for each which record to keep. */
  | {
      readonly kind: "conflicts";
      readonly branch: string;
      readonly conflicts: readonly Conflict[];
      /** How many more there are, of records that are not for who merges to see. */
      readonly hidden: number;
      /** What to do about those, if there are any. */
      readonly hint?: string;
    };

const HIDDEN_CONFLICTS_HINT =
  "Somebody who may see them has to merge: the author of the private records on the branch, or on its base.";

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

/** What settles no conflict was meant for another: better said than done. */
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
    hint: "Look at the conflicts there are: agent.branches.diff(branch).",
  });
}

interface ScopedResolution extends Resolution {
  /** Of two records of which one is private: who may know that. */
  readonly scope: Pick<MemoryInput, "scope" | "session"> | undefined;
}

/** Everybody sees a merge; not everybody may see what it decides about. */
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
  // Private in two ways: then who merges is the only one that is known to see both.
  const { scope, session } = first;
  if (scope === "agent" || closed.some((each) => each.scope !== scope)) return { scope: "agent" };
  return scope === "session" ? { scope, session } : { scope };
}

/** Undefined when somebody was quicker: compare again. */
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
  // Which of two private records holds is said to those who see them.
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
      if (place === undefined) throw new Error("a record was appended, no place came back");
      const memory = placedMemory(mark.written, place, into.name);
      return { kind: "merged", branch: branch.name, into: into.name, tip, memory };
    }
    case "entry_changed":
    case "tip_moved":
      return undefined;
    case "branch_closed":
      throw branchClosed(await requireBranch(workspace, outcome.branch));
    case "lease_lost":
      throw new Error("a record outside a lease cannot lose one");
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
