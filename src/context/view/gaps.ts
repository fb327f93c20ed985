/**
 * Gaps: references of a handoff that could not be resolved. They do not stop the work and are never dropped:
 * each is looked up again before it is passed on, and what is still missing is carried by the receiver's next
 * handoff.
 */
import type { Envelope } from "../../envelope/schema.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkArtifacts } from "./artifact-files.ts";
import { resolveReferences } from "./freshness.ts";
import type { CheckedArtifact, Freshness } from "./view.ts";

/** Returns the gaps that are still missing. Makes no query if there are none. */
export async function recheckGaps(
  workspace: Workspace,
  known: readonly ViewGap[],
): Promise<readonly ViewGap[]> {
  if (known.length === 0) return [];
  return (await resolveReferences(workspace, [], distinct(known))).gaps;
}

/** Keeps each gap once, with the newest reason. */
function distinct(gaps: readonly ViewGap[]): ViewGap[] {
  return [...new Map(gaps.map((gap) => [gap.id, gap])).values()];
}

/** One reference of a handoff, as it is now. */
export interface CheckedReference {
  readonly id: string;
  readonly freshness: Freshness;
  /** Id of the record that superseded it; present if it is stale. */
  readonly now?: string;
  /** Why it is gone; present if it is gone. */
  readonly reason?: string;
}

/** Whether what a handoff builds on is unchanged. */
export interface CheckedContext {
  readonly references: readonly CheckedReference[];
  readonly artifacts: readonly CheckedArtifact[];
}

/** Checks every reference and file of a handoff: fresh, stale or gone. */
export async function checkContext(
  workspace: Workspace,
  { refs, gaps = [], artifacts }: Pick<Envelope, "refs" | "gaps" | "artifacts">,
): Promise<CheckedContext> {
  const [{ resolved, gaps: gone }, files] = await Promise.all([
    resolveReferences(workspace, refs, gaps),
    checkArtifacts(workspace, artifacts),
  ]);
  const found = new Map<string, CheckedReference>();
  for (const { ref, memory, freshness } of resolved) {
    const now = memory.id === ref.id ? {} : { now: memory.id };
    found.set(ref.id, { id: ref.id, freshness, ...now });
  }
  for (const { id, reason } of gone) found.set(id, { id, freshness: "gone", reason });
  const ids = [...new Set([...refs, ...gaps].map(({ id }) => id))];
  return { references: ids.flatMap((id) => found.get(id) ?? []), artifacts: files };
}
