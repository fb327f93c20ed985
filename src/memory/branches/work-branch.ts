/**
 * Runs work on a branch: a handoff can name a branch, and then the notes and results of its receiver are
 * written there. With `mergeOnComplete`, completing the work merges the branch; if that fails, the branch
 * stays open and the work is completed anyway. After the branch is closed, later records of the work are
 * written to the branch it was merged into.
 */
import { BatonError, isBatonError } from "../../base/errors.ts";
import { branchOf, stableFieldsOf } from "../../store/parse-envelope.ts";
import type { EnvelopeRow } from "../../store/rows.ts";
import { MAIN_BRANCH } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Author } from "../record.ts";
import { branchClosed, requireBranch } from "./branches.ts";
import { type MergeResult, mergeBranch } from "./merge.ts";

/** The result of merging the branch of completed work. */
export type WorkMerge =
  | MergeResult
  /** The merge was refused: the branch is still open, or another agent closed it. */
  | { readonly kind: "refused"; readonly branch: string; readonly error: BatonError };

/** Returns the workspace on the branch of the work; unchanged if the envelope names none. */
export function workspaceForWork(workspace: Workspace, envelope: EnvelopeRow): Workspace {
  const branch = branchOf(envelope);
  return branch === undefined ? workspace : { ...workspace, branch };
}

interface WorkBranch {
  readonly branch?: string | undefined;
  readonly mergeOnComplete?: true | undefined;
}

/** Returns the workspace on the branch that a closed branch was merged into; if abandoned, on main. */
export async function workspaceAfterClosing(
  workspace: Workspace,
  closed: string,
): Promise<Workspace> {
  let found = await requireBranch(workspace, closed);
  while (found.closed !== undefined) {
    const { as, record } = found.closed;
    const [merge] =
      as === "merged" ? await workspace.store.readMemories(workspace.name, [record]) : [];
    found = await requireBranch(workspace, merge?.branch ?? MAIN_BRANCH);
  }
  return { ...workspace, branch: found.name };
}

/** Replaces a closed branch in a draft the same way; removes `mergeOnComplete`, since it is closed. */
export async function withOpenBranch<Draft extends WorkBranch>(
  workspace: Workspace,
  draft: Draft,
): Promise<Draft> {
  if (draft.branch === undefined) return draft;
  const { branch } = await workspaceAfterClosing(workspace, draft.branch);
  if (branch === draft.branch) return draft;
  const { branch: _, mergeOnComplete: __, ...rest } = draft;
  return (branch === MAIN_BRANCH ? rest : { ...rest, branch }) as Draft;
}

/** Throws `unknown_branch`, `branch_closed` or `invalid_envelope` unless the draft's branch is open. */
export async function requireOpenBranch(workspace: Workspace, draft: WorkBranch): Promise<void> {
  if (draft.branch === undefined) {
    if (draft.mergeOnComplete === undefined) return;
    throw new BatonError("invalid_envelope", {
      message: "mergeOnComplete requires a branch.",
      path: "mergeOnComplete",
      hint: "Set branch to the branch that the work is done on.",
    });
  }
  if (draft.branch === MAIN_BRANCH && draft.mergeOnComplete !== undefined) {
    throw new BatonError("invalid_envelope", {
      message: `mergeOnComplete cannot be used with "${MAIN_BRANCH}", which is never merged.`,
      path: "mergeOnComplete",
      hint: "Name another branch, or remove mergeOnComplete.",
    });
  }
  const found = await requireBranch(workspace, draft.branch);
  if (found.closed !== undefined) throw branchClosed(found);
}

/** Merges the branch of completed work if the handoff has `mergeOnComplete`; otherwise returns undefined. */
export async function mergeWorkBranch(
  workspace: Workspace,
  holder: Author,
  envelope: EnvelopeRow,
): Promise<WorkMerge | undefined> {
  const branch = branchOf(envelope);
  if (branch === undefined || stableFieldsOf(envelope).mergeOnComplete === undefined)
    return undefined;
  try {
    return await mergeBranch(workspace, holder, branch);
  } catch (error) {
    if (!isBatonError(error)) throw error;
    return { kind: "refused", branch, error };
  }
}
