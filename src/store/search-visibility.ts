/**
 * Checks which index rows a reader may see during one search. A search asks some hundred times, so the
 * visibility is turned into maps and sets once instead of being scanned each time.
 */
import { memoryOf } from "./codecs.ts";
import type { FeatureRow } from "./feature-row.ts";
import {
  matchesSearchFilter,
  reachesOf,
  type SearchMemories,
  searchableRecordOf,
} from "./search.ts";
import { isQuarantined, isTraceBranch } from "./visibility.ts";

/** The visibility and filter of one search. */
export class SearchVisibility {
  /** The branches the reader sees. */
  readonly branches: readonly string[];
  /** Whether the search has a filter. */
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

  /** Returns the last sequence number of a branch that the reader sees; 0: none. */
  upTo(branch: string): number {
    return this.#lines.get(branch) ?? 0;
  }

  /** Returns whether the reader may see the record: by branch, scope and quarantine. */
  isSeen({ id, branch, seq, reach }: Pick<FeatureRow, "id" | "branch" | "seq" | "reach">): boolean {
    const { sight } = this.#operation;
    const isOnLine = (sight.traces && isTraceBranch(branch)) || seq <= this.upTo(branch);
    return isOnLine && this.#reaches.has(reach) && !isQuarantined(id, sight);
  }

  /** Returns whether a memory, given as `MEMORY_COLUMNS`, is searchable and matches the filter. */
  passes(columns: unknown): boolean {
    const row = memoryOf(columns);
    const record = searchableRecordOf(row);
    return record !== undefined && matchesSearchFilter(row, record, this.#operation.filter);
  }
}
