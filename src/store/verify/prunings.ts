/**
 * Traces that have lost their beginning by somebody's decision: a record vouches for it, names the
 * last step that may be gone and the link it had. What is missing without one is missing.
 */
import { genesis } from "../chain.ts";
import { PRUNING_BRANCH, type PrunePoint, prunePointsOf } from "../pruning.ts";
import type { MemoryRow } from "../rows.ts";
import type { ChainHead } from "../verify-report.ts";
import type { Audit, RecordFields } from "./audit.ts";

/** Before the first record that is there. Without links: it follows from one that nobody noted down. */
export interface ChainStart {
  readonly previous: Pick<MemoryRow, "seq" | "storedAt"> | undefined;
  readonly links: readonly string[] | undefined;
}

export class Prunings {
  readonly #workspace: string;
  readonly #branches = new Map<string, Map<number, PrunePoint>>();

  private constructor(workspace: string) {
    this.#workspace = workspace;
  }

  static async read({ source }: Audit): Promise<Prunings> {
    const prunings = new Prunings(source.workspace);
    for await (const row of source.memories(PRUNING_BRANCH)) {
      for (const pruned of prunedTracesIn(row)) prunings.#add(pruned);
    }
    return prunings;
  }

  #add(pruned: PrunePoint): void {
    const known = this.#branches.get(pruned.branch) ?? new Map<number, PrunePoint>();
    this.#branches.set(pruned.branch, known.set(pruned.seq, pruned));
  }

  /** The last step of a branch that may be gone; 0: none may. */
  upTo(branch: string): number {
    return Math.max(0, ...(this.#branches.get(branch)?.keys() ?? []));
  }

  beginning({ branch, seq: last }: ChainHead, first: MemoryRow | undefined): ChainStart {
    const missing = (first?.seq ?? last + 1) - 1;
    const mark = this.#branches.get(branch)?.get(missing);
    if (mark !== undefined) return { previous: mark, links: [mark.link] };
    // In the midst of it: the link where it is to end is known, and looked at there.
    if (first !== undefined && missing > 0 && missing < this.upTo(branch)) {
      return { previous: { seq: missing, storedAt: 0 }, links: undefined };
    }
    return { previous: undefined, links: [genesis(this.#workspace, branch)] };
  }

  /** A step that was to go and is still there must be the one that was meant. */
  compare(audit: Audit, { branch, seq, link, id }: MemoryRow): void {
    const mark = this.#branches.get(branch)?.get(seq);
    if (mark !== undefined) audit.equal(id, "link", { is: link, was: mark.link });
  }
}

/** Damaged ones vouch for nothing; that they are damaged is found with all the others. */
function prunedTracesIn(row: MemoryRow): readonly PrunePoint[] {
  try {
    return prunePointsOf(JSON.parse(row.text) as RecordFields);
  } catch {
    return [];
  }
}
