/**
 * Merging a branch: one record on the base says that everything on the branch, up to its tip, is seen from
 * there too. Records stay where they are, with their authors, places and links. The record, the change of
 * the registry and the end of the branch are one write: of two merges at once one redoes its comparison,
 * and nothing is added to a branch while it is merged that the merge does not take over.
 */
import * as z from "zod";
import { MemoryId } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../limits.ts";
import { CLOSED, type PutEntry } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { BRANCH, type Merge } from "./branch.ts";
import { branchClosed, markOf, overtaken, ROUNDS, requireBranch, written } from "./branches.ts";
import { type Compared, type Conflict, compare } from "./compare.ts";
import { type Author, type Memory, type MemoryInput, placedMemory } from "./record.ts";
import { refusalError } from "./refusals.ts";

const MergeSchema = z.strictObject({
  /** For each conflict, which of its two records holds from now on. */
  resolve: z
    .array(z.strictObject({ keep: MemoryId, over: MemoryId }))
    .max(FORMAT_LIMITS.listItems)
    .default([]),
});

export type MergeOptions = z.input<typeof MergeSchema>;
type Resolution = z.output<typeof MergeSchema>["resolve"][number];

export type Merged =
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
    };

export async function mergeBranch(
  workspace: Workspace,
  author: Author,
  name: string,
  options: MergeOptions = {},
): Promise<Merged> {
  const { resolve } = parseOr(MergeSchema, options, { code: "invalid_input", what: "The options" });
  for (let round = 0; round < ROUNDS; round++) {
    const compared = await compare(workspace, name);
    const { branch, conflicts } = compared;
    if (branch.closed !== undefined) throw branchClosed(branch);
    refuseIdle(resolve, conflicts);
    const open = conflicts.filter((conflict) => !resolve.some((each) => settles(each, conflict)));
    if (open.length > 0) return { kind: "conflicts", branch: branch.name, conflicts: open };
    const merged = await write(workspace, author, compared, resolve);
    if (merged !== undefined) return merged;
  }
  throw overtaken(name);
}

const settles = ({ keep, over }: Resolution, { branch, base }: Conflict): boolean =>
  (keep === branch && over === base) || (keep === base && over === branch);

/** What settles no conflict was meant for another: better said than done. */
function refuseIdle(resolve: readonly Resolution[], conflicts: readonly Conflict[]): void {
  const at = resolve.findIndex((each) => !conflicts.some((conflict) => settles(each, conflict)));
  if (at < 0) return;
  const { keep, over } = resolve[at] as Resolution;
  throw new BatonError("invalid_input", {
    message: `resolve[${at}]: ${keep} and ${over} are not in conflict.`,
    path: `resolve[${at}]`,
    hint: "Look at the conflicts there are: agent.diff(branch).",
  });
}

/** Undefined when somebody was quicker: compare again. */
async function write(
  workspace: Workspace,
  author: Author,
  { branch, into, tip, lines }: Compared,
  resolve: readonly Resolution[],
): Promise<Merged | undefined> {
  const mark = markOf(
    { ...workspace, branch: into.name },
    author,
    recordOf(author, { branch: branch.name, into: into.name, tip }, resolve),
  );
  const merge = { branch: branch.name, lines, record: mark.memory };
  const merges: readonly Merge[] = [...into.value.merges, merge];
  const actual = merges.flatMap((each) => each.lines).length;
  checkLimit(workspace.limits, "mergedLines", { actual, path: "branch" });
  const closed = written({ as: "merged", by: author.agent, record: mark.memory });
  const entries: PutEntry[] = [
    {
      kind: BRANCH,
      name: into.name,
      value: written({ ...into.value, merges }),
      basedOn: into.revision,
    },
    { kind: CLOSED, name: branch.name, value: closed, basedOn: 0 },
  ];
  const outcome = await workspace.store.appendMemories({
    ...mark.operation,
    entries,
    tip: { branch: branch.name, seq: tip },
  });
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined) throw new Error("one record was appended, no place came back");
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
  return {
    type: "merge",
    content: `${agent} merged "${of.branch}" into "${of.into}".`,
    data: { branch: of.branch, tip: of.tip },
    ...(resolve.length === 0 ? {} : { refs: [...new Set(resolve.map(({ keep }) => keep))] }),
    relations: [...new Set(resolve.map(({ over }) => over))].map((to) => ({
      kind: "supersedes" as const,
      to,
    })),
  };
}
