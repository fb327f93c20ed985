/**
 * Gaps: what a handoff refers to and nobody could find. They hold nobody up, and they are never
 * forgotten: each is looked for again before it is passed on, and what is still missing travels with
 * what the receiver makes next.
 */
import type { Envelope } from "../../envelope/schema.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkArtifacts } from "./artifact-files.ts";
import { resolveReferences } from "./freshness.ts";
import type { CheckedArtifact, Freshness } from "./view.ts";

/** Those of them that are still missing. Asks nothing where there are none. */
export async function recheckGaps(
  workspace: Workspace,
  known: readonly ViewGap[],
): Promise<readonly ViewGap[]> {
  if (known.length === 0) return [];
  return (await resolveReferences(workspace, [], distinct(known))).gaps;
}

/** Each once; what was learned of it last counts. */
function distinct(gaps: readonly ViewGap[]): ViewGap[] {
  return [...new Map(gaps.map((gap) => [gap.id, gap])).values()];
}

/** One reference of a handoff, as it is now. */
export interface CheckedReference {
  readonly id: string;
  readonly freshness: Freshness;
  /** What holds in its place, where it is stale. */
  readonly now?: string;
  /** Why it is gone. */
  readonly reason?: string;
}

/** Whether what a handoff builds on is still what it was. */
export interface CheckedContext {
  readonly references: readonly CheckedReference[];
  readonly artifacts: readonly CheckedArtifact[];
}

/** Every reference and file of a handoff: fresh, stale or gone. */
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
