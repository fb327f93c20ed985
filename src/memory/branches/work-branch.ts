/**
 * Work on a branch: a handoff may name one, and then what its receiver notes and hands in goes there. If
 * it says so, completing it merges the branch; a merge that cannot be made leaves the branch open, and
 * the work completed. Work outlives its branch: what comes of it after that was closed goes where the
 * branch has gone.
 */
import { BatonError, isBatonError } from "../../base/errors.ts";
import { branchOf, stableFieldsOf } from "../../store/parse-envelope.ts";
import type { EnvelopeRow } from "../../store/rows.ts";
import { MAIN_BRANCH } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Author } from "../record.ts";
import { branchClosed, requireBranch } from "./branches.ts";
import { type MergeResult, mergeBranch } from "./merge.ts";

/** What came of merging the branch of completed work. */
export type WorkMerge =
  | MergeResult
  /** It could not be tried: the branch is open still, or was closed by somebody else. */
  | { readonly kind: "refused"; readonly branch: string; readonly error: BatonError };

/** The workspace as whoever works on this sees it. */
export function workspaceForWork(workspace: Workspace, envelope: EnvelopeRow): Workspace {
  const branch = branchOf(envelope);
  return branch === undefined ? workspace : { ...workspace, branch };
}

interface WorkBranch {
  readonly branch?: string | undefined;
  readonly mergeOnComplete?: true | undefined;
}

/** The workspace on what a closed branch was merged into; of one that was given up, on the trunk. */
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

/** The same of a handoff that goes on with work: what was merged is not its to merge any more. */
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

/** A branch that work can be done on. */
export async function requireOpenBranch(workspace: Workspace, draft: WorkBranch): Promise<void> {
  if (draft.branch === undefined) {
    if (draft.mergeOnComplete === undefined) return;
    throw new BatonError("invalid_envelope", {
      message: "mergeOnComplete: there is no branch to merge.",
      path: "mergeOnComplete",
      hint: "Name the branch the work is done on: branch.",
    });
  }
  if (draft.branch === MAIN_BRANCH && draft.mergeOnComplete !== undefined) {
    throw new BatonError("invalid_envelope", {
      message: `mergeOnComplete: "${MAIN_BRANCH}" is the trunk, and is merged into nothing.`,
      path: "mergeOnComplete",
      hint: "Name a branch of its own, or leave mergeOnComplete out.",
    });
  }
  const found = await requireBranch(workspace, draft.branch);
  if (found.closed !== undefined) throw branchClosed(found);
}

/** After the work was completed: merges its branch where the handoff says so. */
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
