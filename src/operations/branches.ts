/** Operations on branches. The branch that a call works on is named by a header, not by these operations. */

import * as z from "zod";
import { BranchName } from "../envelope/schema.ts";
import { BeginSchema, BranchesSchema } from "../memory/branches/branches.ts";
import { DiffSchema } from "../memory/branches/compare.ts";
import { MergeSchema } from "../memory/branches/merge.ts";
import { operation } from "./operation.ts";
import { BranchDiffForm, BranchForm, MergeResultForm } from "./schemas/branches.ts";
import { pageForm } from "./schemas/common.ts";
import { MemoryForm } from "./schemas/memories.ts";

const ByName = z.strictObject({ name: BranchName });

export const branchesOperations = {
  "branches.list": operation({
    summary: "Lists branches by name, one page at a time.",
    route: "GET /v1/branches",
    access: "reader",
    on: "reader",
    input: BranchesSchema,
    output: pageForm(BranchForm),
    rest: true,
  }),
  "branches.create": operation({
    summary: "Creates a branch from the current state of its base.",
    route: "POST /v1/branches",
    access: "agent",
    on: "agent",
    args: ["name"],
    input: BeginSchema.extend(ByName.shape),
    output: ByName,
    rest: true,
    run: async ({ agent }, { name, ...options }) => ({
      name: (await (await agent()).branches.create(name, options)).branch,
    }),
  }),
  "branches.use": operation({
    summary: "Checks that a branch exists.",
    route: "GET /v1/branches/:name",
    access: "reader",
    on: "agent",
    args: ["name"],
    input: ByName,
    output: ByName,
    run: async ({ agent }, { name }) => ({
      name: (await (await agent()).branches.use(name)).branch,
    }),
  }),
  "branches.diff": operation({
    summary: "Returns what was written on a branch, and its conflicts with the base.",
    route: "GET /v1/branches/:name/diff",
    access: "reader",
    on: "reader",
    args: ["name"],
    input: DiffSchema.extend(ByName.shape),
    output: BranchDiffForm,
    rest: true,
  }),
  "branches.merge": operation({
    summary: "Merges a branch into its base; with unresolved conflicts nothing changes.",
    route: "POST /v1/branches/:name/merge",
    access: "agent",
    on: "agent",
    args: ["name"],
    input: MergeSchema.extend(ByName.shape),
    output: MergeResultForm,
    rest: true,
  }),
  "branches.abandon": operation({
    summary: "Closes a branch without merging it.",
    route: "POST /v1/branches/:name/abandon",
    access: "agent",
    on: "agent",
    args: ["name", "reason"],
    input: ByName.extend({ reason: z.string() }),
    output: MemoryForm,
  }),
};
