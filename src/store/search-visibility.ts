/** Who may see what of an index's rows, asked some hundred times for one search: looked up, not walked. */
import { memoryOf } from "./codecs.ts";
import type { FeatureRow } from "./feature-row.ts";
import {
  matchesSearchFilter,
  reachesOf,
  type SearchMemories,
  searchableRecordOf,
} from "./search.ts";
import { isQuarantined, isTraceBranch } from "./visibility.ts";

export class SearchVisibility {
  readonly branches: readonly string[];
  /** Whether there is anything to pass. */
  readonly isFiltered: boolean;
  readonly #operation: SearchMemories;
  readonly #lines: ReadonlyMap<string, number>;
  readonly #reaches: ReadonlySet<string>;

  constructor(operation: SearchMemories) {
    const { sight, filter } = operation;
    this.#operation = operation;
    this.#lines = new Map(sight.lines.map(({ branch, upTo }) => [branch, upTo]));
    this.#reaches = reachesOf(sight.reader);
    this.branches = [...this.#lines.keys()];
    this.isFiltered = Object.keys(filter).length > 0;
  }

  /** How far a branch is seen. */
  upTo(branch: string): number {
    return this.#lines.get(branch) ?? 0;
  }

  isSeen({ id, branch, seq, reach }: Pick<FeatureRow, "id" | "branch" | "seq" | "reach">): boolean {
    const { sight } = this.#operation;
    const isOnLine = (sight.traces && isTraceBranch(branch)) || seq <= this.upTo(branch);
    return isOnLine && this.#reaches.has(reach) && !isQuarantined(id, sight);
  }

  /** Of a memory's columns: whether it passes the filter. */
  passes(columns: unknown): boolean {
    const row = memoryOf(columns);
    const record = searchableRecordOf(row);
    return record !== undefined && matchesSearchFilter(row, record, this.#operation.filter);
  }
}
