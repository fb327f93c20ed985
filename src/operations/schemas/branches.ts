/** Branches, as they are answered. */
import * as z from "zod";
import type { BranchInfo } from "../../memory/branches/branches.ts";
import type { BranchDiff, Conflict, Replacement } from "../../memory/branches/compare.ts";
import type { MergeResult } from "../../memory/branches/merge.ts";
import { Count, Text, Texts } from "./common.ts";
import type { Fields } from "./fields.ts";
import { MemoryForm } from "./memories.ts";

const branch = {
  name: Text,
  base: Text.meta({ description: "The branch it left" }),
  fork: z.strictObject({ memory: Text.exactOptional(), seq: Count }).meta({
    description: "The last record of its base that it sees; memory is absent if none or private",
  }),
  state: z.enum(["open", "merged", "abandoned"]),
  by: Text.meta({ description: "Who began it" }),
  merged: Texts,
  closedBy: Text.optional().meta({ description: "The record that says how it ended" }),
} satisfies Fields<BranchInfo>;

export const BranchForm = z.strictObject(branch).meta({ id: "Branch" });

const ConflictForm = z
  .strictObject({
    kind: z.enum(["both_replaced", "base_replaced", "branch_replaced"]),
    about: Text.meta({ description: "The record both sides knew" }),
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
    into: Text.meta({ description: "Where it would be merged" }),
    tip: Count,
    count: Count,
    records: z.array(MemoryForm),
    replacements: z.array(ReplacementForm),
    conflicts: z.array(ConflictForm),
    hidden: Count.meta({ description: "Conflicts of records that the caller may not see" }),
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
    description: "Merged; or what stands in the way, and nothing was changed.",
  });
