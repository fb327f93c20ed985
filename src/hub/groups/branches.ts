/** `hub.branches` and `agent.branches`: lines of memories that are merged or abandoned later. */
import type { Page } from "../../base/page.ts";
import {
  abandonBranch,
  type BeginOptions,
  type BranchesQuery,
  type BranchInfo,
  beginBranch,
  listBranches,
  requireBranch,
} from "../../memory/branches/branches.ts";
import { type BranchDiff, type DiffQuery, diffBranch } from "../../memory/branches/compare.ts";
import { type MergeOptions, type MergeResult, mergeBranch } from "../../memory/branches/merge.ts";
import type { Author, Memory } from "../../memory/record.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Agent } from "../agent.ts";
import type { Call } from "./call.ts";

/** `hub.branches`: lists and compares branches. */
export interface HubBranches {
  /** Returns branches in the order of their names. */
  list(query?: BranchesQuery): Promise<Page<BranchInfo>>;
  /**
   * Returns what was written on a branch, what it replaces, and the conflicts with its base. Throws
   * `unknown_branch`.
   */
  diff(branch: string, query?: DiffQuery): Promise<BranchDiff>;
}

/** `agent.branches`: also creates, merges and abandons branches. */
export interface AgentBranches extends HubBranches {
  /** Creates a branch from the current state of its base and returns this agent on it. */
  create(name: string, options?: BeginOptions): Promise<Agent>;
  /** Returns this agent, in the same session, on an existing branch. Throws `unknown_branch`. */
  use(branch: string): Promise<Agent>;
  /**
   * Merges a branch into its base. With unresolved conflicts, returns them and changes nothing. Throws
   * `branch_closed`.
   */
  merge(branch: string, options?: MergeOptions): Promise<MergeResult>;
  /** Closes a branch without merging it. Its records can still be read by id. */
  abandon(branch: string, reason: string): Promise<Memory>;
}

/** Returns `hub.branches` for a workspace. */
export const hubBranches = (workspace: Workspace): HubBranches => ({
  list: async (query = {}) => listBranches(workspace, query),
  diff: async (branch, query = {}) => diffBranch(workspace, branch, query),
});

/** What `agentBranches()` needs of its agent. */
export interface AgentBranchesOptions {
  readonly self: Author;
  readonly call: Call;
  /** Returns the agent on an existing branch. */
  readonly on: (branch: string) => Agent;
}

/** Returns `agent.branches` for a session. */
export function agentBranches(
  workspace: Workspace,
  { self, call, on }: AgentBranchesOptions,
): AgentBranches {
  const { list, diff } = hubBranches(workspace);
  return {
    list: (query) => call(() => list(query)),
    diff: (branch, query) => call(() => diff(branch, query)),
    create: (name, options = {}) =>
      call(async () => {
        await beginBranch(workspace, self, name, options);
        return on(name);
      }),
    use: (branch) => call(async () => on((await requireBranch(workspace, branch)).name)),
    merge: (branch, options = {}) => call(() => mergeBranch(workspace, self, branch, options)),
    abandon: (branch, reason) => call(() => abandonBranch(workspace, self, branch, reason)),
  };
}
