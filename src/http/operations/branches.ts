/** Branches: begun, compared, merged, given up. The one a caller works on stands in a header. */
import * as z from "zod";
import { BranchName } from "../../envelope/schema.ts";
import { BeginSchema, BranchesSchema } from "../../memory/branches/branches.ts";
import { DiffSchema } from "../../memory/branches/compare.ts";
import { MergeSchema } from "../../memory/branches/merge.ts";
import type { Operations } from "../operation.ts";
import { BranchDiffForm, BranchForm, MergedForm } from "../schemas/branches.ts";
import { MemoryForm } from "../schemas/memories.ts";

const Named = z.strictObject({ name: BranchName });

export const branchesOperations = {
  listBranches: {
    summary: "Lists branches in the order of their names; a page at a time.",
    access: "reader",
    input: BranchesSchema,
    output: z.array(BranchForm),
    rest: true,
    run: ({ hub }, query) => hub.branches(query),
  },
  beginBranch: {
    summary: "Begins a branch where its base stands now.",
    access: "agent",
    input: BeginSchema.extend(Named.shape),
    output: Named,
    rest: true,
    run: async ({ agent }, { name, ...options }) => ({
      name: (await (await agent()).branch(name, options)).onBranch,
    }),
  },
  findBranch: {
    summary: "Tells whether there is a branch of this name.",
    access: "reader",
    input: Named,
    output: Named,
    run: async ({ agent }, { name }) => ({ name: (await (await agent()).on(name)).onBranch }),
  },
  diffBranch: {
    summary: "Shows what was written on a branch, and what stands in the way of merging it.",
    access: "reader",
    input: DiffSchema.extend(Named.shape),
    output: BranchDiffForm,
    rest: true,
    run: async ({ reader }, { name, ...query }) => (await reader()).diff(name, query),
  },
  mergeBranch: {
    summary: "Merges a branch into its base; with conflicts left open, nothing is changed.",
    access: "agent",
    input: MergeSchema.extend(Named.shape),
    output: MergedForm,
    rest: true,
    run: async ({ agent }, { name, ...options }) => (await agent()).merge(name, options),
  },
  abandonBranch: {
    summary: "Gives a branch up: its base sees nothing of it.",
    access: "agent",
    input: Named.extend({ reason: z.string() }),
    output: MemoryForm,
    run: async ({ agent }, { name, reason }) => (await agent()).abandon(name, reason),
  },
} satisfies Operations<
  "listBranches" | "beginBranch" | "findBranch" | "diffBranch" | "mergeBranch" | "abandonBranch"
>;
