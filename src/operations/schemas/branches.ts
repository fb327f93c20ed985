/** Zod schemas for branches, their differences and merges, as HTTP responses carry them. */
import * as z from "zod";
import type { BranchInfo } from "../../memory/branches/branches.ts";
import type { BranchDiff, Conflict, Replacement } from "../../memory/branches/compare.ts";
import type { MergeResult } from "../../memory/branches/merge.ts";
import { Count, Text, Texts } from "./common.ts";
import type { Fields } from "./fields.ts";
import { MemoryForm } from "./memories.ts";

const branch = {
  name: Text,
  base: Text.meta({ description: "The branch it was created from" }),
  fork: z.strictObject({ memory: Text.exactOptional(), seq: Count }).meta({
    description:
      "The last record of the base visible on the branch; memory is absent if there is none or it is private",
  }),
  state: z.enum(["open", "merged", "abandoned"]),
  by: Text.meta({ description: "The agent that created it" }),
  merged: Texts,
  closedBy: Text.optional().meta({ description: "The memory that records how it ended" }),
} satisfies Fields<BranchInfo>;

export const BranchForm = z.strictObject(branch).meta({ id: "Branch" });

const ConflictForm = z
  .strictObject({
    kind: z.enum(["both_replaced", "base_replaced", "branch_replaced"]),
    about: Text.meta({ description: "The record that both sides share" }),
    branch: Text,
    base: Text,
  } satisfies Fields<Conflict>)
  .meta({ id: "Conflict" });

const ReplacementForm = z.strictObject({
  kind: Text,
  by: Text,
  of: Text,
} satisfies Fields<Replacement>);

export const BranchDiffForm = z
  .strictObject({
    ...branch,
    into: Text.meta({ description: "The branch it would be merged into" }),
    tip: Count,
    count: Count,
    records: z.array(MemoryForm),
    replacements: z.array(ReplacementForm),
    conflicts: z.array(ConflictForm),
    hidden: Count.meta({
      description: "Number of conflicts between records that the caller cannot see",
    }),
  } satisfies Fields<BranchDiff>)
  .meta({ id: "BranchDiff" });

type Variant<Kind extends MergeResult["kind"]> = Fields<
  Extract<MergeResult, { readonly kind: Kind }>
>;

export const MergeResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("merged"),
      branch: Text,
      into: Text,
      tip: Count,
      memory: MemoryForm,
    } satisfies Variant<"merged">),
    z.strictObject({
      kind: z.literal("conflicts"),
      branch: Text,
      conflicts: z.array(ConflictForm),
      hidden: Count,
      hint: Text.optional(),
    } satisfies Variant<"conflicts">),
  ])
  .meta({
    id: "Merged",
    description: "The merge, or the conflicts that prevent it; with conflicts nothing is changed.",
  });
