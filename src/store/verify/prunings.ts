/**
 * Reads the pruning records, which say how much of each trace may be missing. A pruning record contains the
 * last step that may be gone and the link it had. A step that is missing without such a record is reported.
 */
import { genesis } from "../chain.ts";
import { PRUNING_BRANCH, type PrunePoint, prunePointsOf } from "../pruning.ts";
import type { MemoryRow } from "../rows.ts";
import type { ChainHead } from "../verify-report.ts";
import type { Audit, RecordFields } from "./audit.ts";

/**
 * What precedes the first stored record of a chain. `links` is undefined if that record follows from a step
 * that no pruning record contains.
 */
export interface ChainStart {
  readonly previous: Pick<MemoryRow, "seq" | "storedAt"> | undefined;
  readonly links: readonly string[] | undefined;
}

/** The prune points of a workspace, by branch and position. */
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

  /** Returns the position of the last step of a branch that may be gone; 0 if none may be missing. */
  upTo(branch: string): number {
    return Math.max(0, ...(this.#branches.get(branch)?.keys() ?? []));
  }

  /** Returns what precedes the first stored record: a prune point, an unknown step or the genesis link. */
  beginning({ branch, seq: last }: ChainHead, first: MemoryRow | undefined): ChainStart {
    const missing = (first?.seq ?? last + 1) - 1;
    const mark = this.#branches.get(branch)?.get(missing);
    if (mark !== undefined) return { previous: mark, links: [mark.link] };
    // The pruning is only partly done: the link at its end is known, and `compare` checks it there.
    if (first !== undefined && missing > 0 && missing < this.upTo(branch)) {
      return { previous: { seq: missing, storedAt: 0 }, links: undefined };
    }
    return { previous: undefined, links: [genesis(this.#workspace, branch)] };
  }

  /** Checks that a step that was to be pruned and still exists is the one the pruning record refers to. */
  compare(audit: Audit, { branch, seq, link, id }: MemoryRow): void {
    const mark = this.#branches.get(branch)?.get(seq);
    if (mark !== undefined) audit.equal(id, "link", { is: link, was: mark.link });
  }
}

/** Returns no prune points for a damaged record; the damage is reported when its chain is verified. */
function prunedTracesIn(row: MemoryRow): readonly PrunePoint[] {
  try {
    return prunePointsOf(JSON.parse(row.text) as RecordFields);
  } catch {
    return [];
  }
}
