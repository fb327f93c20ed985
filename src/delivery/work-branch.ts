/**
 * Work on a branch: a handoff may name one, and then what its receiver notes and hands in goes there. If
 * it says so, completing it merges the branch; a merge that cannot be made leaves the branch open, and
 * the work completed.
 */
import { BatonError, isBatonError } from "../errors.ts";
import { branchClosed, requireBranch } from "../memory/branches.ts";
import { type Merged, mergeBranch } from "../memory/merge.ts";
import type { Author } from "../memory/record.ts";
import type { EnvelopeRow } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import { parseEnvelope } from "./parse-envelope.ts";

/** What came of merging the branch of completed work. */
export type WorkMerge =
  | Merged
  /** It could not be tried: the branch is open still, or was closed by somebody else. */
  | { readonly kind: "refused"; readonly branch: string; readonly error: BatonError };

/** The workspace as whoever works on this sees it. Most handoffs name no branch: no need to parse. */
export function forWork(workspace: Workspace, envelope: EnvelopeRow): Workspace {
  const branch = branchOf(envelope);
  return branch === undefined ? workspace : { ...workspace, branch };
}

export function branchOf(envelope: EnvelopeRow): string | undefined {
  return envelope.text.includes('"branch":') ? parseEnvelope(envelope).branch : undefined;
}

/** A branch that work can be done on. */
export async function requireOpenBranch(
  workspace: Workspace,
  draft: { readonly branch?: string | undefined; readonly mergeOnComplete?: true | undefined },
): Promise<void> {
  if (draft.branch === undefined) {
    if (draft.mergeOnComplete === undefined) return;
    throw new BatonError("invalid_envelope", {
      message: "mergeOnComplete: there is no branch to merge.",
      path: "mergeOnComplete",
      hint: "Name the branch the work is done on: branch.",
    });
  }
  const found = await requireBranch(workspace, draft.branch);
  if (found.closed !== undefined) throw branchClosed(found);
}

/** After the work was completed: merges its branch where the handoff says so. */
export async function mergeAfter(
  workspace: Workspace,
  holder: Author,
  envelope: EnvelopeRow,
): Promise<WorkMerge | undefined> {
  const branch = branchOf(envelope);
  if (branch === undefined || parseEnvelope(envelope).mergeOnComplete === undefined)
    return undefined;
  try {
    return await mergeBranch(workspace, holder, branch);
  } catch (error) {
    if (!isBatonError(error)) throw error;
    return { kind: "refused", branch, error };
  }
}
