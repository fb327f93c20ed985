/**
 * The records that vouch for pruned traces. Before steps of a trace are deleted, a record on a separate chain
 * states up to which step each trace may be missing, and the link of that step. With it, verification can
 * distinguish pruned steps from lost ones and continue from that link.
 */
import { isTraceBranch } from "./visibility.ts";

/** The chain of these records: not visible to any reader, never pruned, and not a valid branch name. */
export const PRUNING_BRANCH = "#pruned";

/** The step of a trace up to which steps may be missing. */
export interface PrunePoint {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

/** Returns what a record of this chain vouches for; empty if it contains anything else. */
export function prunePointsOf(authored: { readonly data?: unknown }): readonly PrunePoint[] {
  const { traces } = (authored.data ?? {}) as { readonly traces?: unknown };
  if (!Array.isArray(traces)) return [];
  return traces.filter(isPrunePoint);
}

function isPrunePoint(value: unknown): value is PrunePoint {
  const { branch, seq, storedAt, link } = (value ?? {}) as Partial<
    Record<keyof PrunePoint, unknown>
  >;
  return (
    typeof branch === "string" &&
    isTraceBranch(branch) && // Only traces can be pruned, whatever a record states.
    typeof seq === "number" &&
    typeof storedAt === "number" &&
    typeof link === "string"
  );
}
