/**
 * How the store remembers what it was told to forget: before steps of a trace go, a record on a chain
 * of its own says up to where each trace may go, and which link stood there. So verification can tell
 * what was pruned from what was lost, and go on from that link.
 */
import { isTraceBranch } from "./visibility.ts";

/** The chain of these records: on nobody's line, never pruned, and no name a branch can have. */
export const PRUNING_BRANCH = "#pruned";

/** Up to here a trace may be gone. */
export interface PrunePoint {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

/** What a record of this chain vouches for; nothing, of one that says something else. */
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
    isTraceBranch(branch) && // Nothing else can be pruned, whatever a record says.
    typeof seq === "number" &&
    typeof storedAt === "number" &&
    typeof link === "string"
  );
}
