/**
 * Provides the index file and the unindexed tail as sources for ranking. Runs in the searcher's thread, over
 * one snapshot of the index and of the store.
 */
import { appendCensus } from "../../../search/in-memory-sources.ts";
import type {
  Census,
  PositionEdge,
  PostingRequest,
  RankingSources,
  RecordFeatures,
  Replacement,
  SessionNeighbours,
  SimilarRecord,
} from "../../../search/ranking-sources.ts";
import { memoryOf } from "../../codecs.ts";
import { type FeatureRow, NO_CENSUS } from "../../feature-row.ts";
import {
  facetsIn,
  findNearestVisible,
  reachOf,
  type SearchMemories,
  spaceKey,
} from "../../search.ts";
import { SearchVisibility } from "../../search-visibility.ts";
import type { UnindexedTail } from "../../unindexed-tail.ts";
import { END_OF_BRANCH, isRowVisible, isTraceBranch } from "../../visibility.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { IndexReader } from "./index-reader.ts";
import { restriction, termToken } from "./index-tokens.ts";
import type { VectorSearch } from "./vector-search.ts";

/** What one search reads from. */
export interface SearchContext {
  readonly sql: Statements;
  readonly index: IndexReader | undefined;
  readonly tail: UnindexedTail;
  readonly vectors: VectorSearch;
  /** The position up to which the index is valid. */
  readonly watermark: number;
  readonly workspace: number;
  readonly operation: SearchMemories;
}

/** How many of the nearest vectors are checked at most to find visible ones. */
const MAX_NEAREST = 80;
/** With more branches than this, the index query does not name them; its results are checked anyway. */
const MAX_NAMED_BRANCHES = 16;

/** The ranking sources of one search. */
export class SqliteSources implements RankingSources {
  readonly #of: SearchContext;
  readonly #spaces: readonly number[];
  readonly #seeing: SearchVisibility;
  readonly #restriction: string;
  /** Whether postings may contain many records that the search cannot return. */
  readonly #isNarrow: boolean;
  readonly #range: { readonly from: number; readonly to: number };

  constructor(of: SearchContext) {
    this.#of = of;
    const { sight } = of.operation;
    this.#spaces = (sight.traces ? (["known", "traced"] as const) : (["known"] as const)).map(
      (space) => spaceKey(of.workspace, space),
    );
    this.#seeing = new SearchVisibility(of.operation);
    this.#restriction = this.#restrict();
    this.#range = rangeOf(of);
    const { from, to } = this.#range;
    this.#isNarrow =
      this.#seeing.isFiltered ||
      this.#restriction !== "" ||
      from > 0 ||
      to < (of.operation.upTo ?? END_OF_BRANCH);
  }

  async census(): Promise<Census> {
    const { index, tail } = this.#of;
    const parts = this.#spaces.map((space) => {
      const indexed = index?.census(space) ?? NO_CENSUS;
      return appendCensus(indexed, tail.space(space)?.census() ?? NO_CENSUS);
    });
    return parts.reduce((all, part) => ({
      ...appendCensus(all, part),
      first: Math.min(all.first, part.first),
      last: Math.max(all.last, part.last),
    }));
  }

  async postings(requests: readonly PostingRequest[]): Promise<readonly (readonly number[])[]> {
    return requests.map((request) => {
      const lists = this.#spaces.map((space) => this.#list(space, request));
      const [first = [], ...others] = lists.filter((list) => list.length > 0);
      if (others.length === 0) return first;
      return [first, ...others]
        .flat()
        .sort((a, b) => b - a)
        .slice(0, request.limit);
    });
  }

  /**
   * Returns the postings of a term. A list that ends within the limit is not filtered: its length shows how
   * rare the term is, and invisible records are removed later. Of a longer list, only records that can be
   * hits are read.
   */
  #list(space: number, request: PostingRequest): readonly number[] {
    const { upTo = END_OF_BRANCH } = this.#of.operation;
    const before = Math.min(request.before, upTo + 1);
    const known = this.#of.tail.space(space);
    const tail = known?.posting({ ...request, before }) ?? [];
    const all = this.#indexed(space, { ...request, before, limit: request.limit - tail.length });
    if (tail.length + all.length < request.limit || !this.#isNarrow) return tail.concat(all);
    const { from, to } = this.#range;
    const most = { ...request, before: Math.min(before, to + 1) };
    const seen = (known?.posting({ ...most, limit: END_OF_BRANCH }) ?? [])
      .filter((pos) => this.#tailed(pos))
      .slice(0, request.limit);
    const limit = request.limit - seen.length;
    return seen.concat(this.#indexed(space, { ...most, limit }, this.#restriction, from));
  }

  #indexed(
    space: number,
    { token, before, limit }: PostingRequest,
    among = "",
    from = 0,
  ): readonly number[] {
    const { index, watermark } = this.#of;
    if (index === undefined || limit === 0) return [];
    const term = `"${termToken(space, token)}"`;
    const query = among === "" ? term : `${term} AND (${among})`;
    return index.postings(query, { before: Math.min(before, watermark + 1), from, limit });
  }

  readonly #seenInTail = new Map<number, boolean>();

  #tailed(pos: number): boolean {
    const known = this.#seenInTail.get(pos);
    if (known !== undefined) return known;
    const entry = this.#of.tail.record(pos);
    const seen =
      entry !== undefined &&
      entry.row.workspace === this.#of.workspace &&
      this.#isVisible({ ...entry.row, reach: reachOf(entry.record) });
    this.#seenInTail.set(pos, seen);
    return seen;
  }

  async records(positions: readonly number[]): Promise<readonly RecordFeatures[]> {
    const { tail, index, watermark } = this.#of;
    const found: RecordFeatures[] = [];
    const indexed: number[] = [];
    for (const pos of positions) {
      if (pos > this.#range.to || pos < this.#range.from) continue;
      if (pos <= watermark) {
        indexed.push(pos);
        continue;
      }
      const entry = tail.record(pos);
      if (entry !== undefined && this.#tailed(pos)) found.push(entry.found);
    }
    if (index === undefined || indexed.length === 0) return found;
    for (const record of index.records(indexed)) {
      if (this.#isVisible(record)) found.push(record.found);
    }
    return found;
  }

  #isVisible(record: Pick<FeatureRow, "id" | "branch" | "seq" | "reach" | "pos">): boolean {
    const { sql } = this.#of;
    if (!this.#seeing.isSeen(record)) return false;
    // The index is not updated when steps of a trace are pruned.
    if (isTraceBranch(record.branch) && sql.linkAt.get(record.pos) === undefined) return false;
    if (!this.#seeing.isFiltered) return true;
    const row = sql.memoryAt.get(record.pos);
    return row !== undefined && this.#seeing.passes(row);
  }

  async beside(
    records: readonly RecordFeatures[],
    reach: number,
  ): Promise<readonly SessionNeighbours[]> {
    return records.map((record) => this.#besideOne(record, reach));
  }

  #besideOne({ pos, session }: RecordFeatures, reach: number): SessionNeighbours {
    const { index, tail, watermark } = this.#of;
    const here = this.#spaces.flatMap((space) => tail.space(space)?.session(session) ?? []);
    const later = here.filter((other) => other > pos).slice(0, reach);
    const earlier = here
      .filter((other) => other < pos)
      .slice(-reach)
      .reverse();
    const key = Number(session);
    const limit = Math.min(pos, watermark + 1);
    return {
      pos,
      before:
        earlier.length === reach
          ? earlier
          : [...earlier, ...(index?.before(key, limit, reach - earlier.length) ?? [])],
      after: [...(index?.after(key, pos, { upTo: watermark, reach }) ?? []), ...later].slice(
        0,
        reach,
      ),
    };
  }

  async edges(positions: readonly number[], limit: number): Promise<readonly PositionEdge[]> {
    const { sql, operation } = this.#of;
    const at = operation.ranking.now;
    const wanted = new Set(positions);
    const found: PositionEdge[] = [];
    for (const pos of positions) {
      for (const statement of [sql.edgesFrom, sql.edgesTo]) {
        if (found.length >= limit) return found;
        for (const row of statement.all(pos, at) as unknown as [string, number, number][]) {
          const [kind, source, target] = row;
          // An edge between two of them was already found from its source.
          if (target === pos && wanted.has(source)) continue;
          found.push({ kind, source, target });
        }
      }
    }
    return found;
  }

  async replaced(positions: readonly number[]): Promise<readonly Replacement[]> {
    const { sql, operation } = this.#of;
    const edges = sql.replacing.all(JSON.stringify(positions), operation.ranking.now);
    return (edges as unknown as [number, number][]).flatMap(([pos, by]): Replacement[] =>
      this.#isSeen(by) ? [{ pos, by }] : [],
    );
  }

  /** Returns whether the reader sees a record, regardless of the filter. */
  #isSeen(pos: number): boolean {
    const raw = pos <= this.#range.to ? this.#of.sql.memoryAt.get(pos) : undefined;
    return raw !== undefined && isRowVisible(memoryOf(raw), this.#of.operation.sight);
  }

  async nearest(limit: number): Promise<readonly SimilarRecord[]> {
    return findNearestVisible(this.#of.vectors.nearest(MAX_NEAREST), limit, (positions) =>
      this.records(positions),
    );
  }

  async similarities(positions: readonly number[]): Promise<readonly SimilarRecord[]> {
    return this.#of.vectors.similarities(positions);
  }

  /**
   * Returns the FTS5 query that restricts postings; empty: none. With a filter, only records that match its
   * facets are read. Without one, branches are named if most of the workspace's records are on others;
   * otherwise reading more costs less than intersecting lists.
   */
  #restrict(): string {
    const { sql, workspace, operation } = this.#of;
    const { sight, filter } = operation;
    if (sight.traces) return "";
    const { branches } = this.#seeing;
    if (branches.length > MAX_NAMED_BRANCHES) return "";
    if (facetsIn(filter).length === 0) {
      const all = scalarOf<number>(sql.knownRecords.get(workspace)) ?? 0;
      const seen = branches.reduce((sum, branch) => {
        const [, seq = 0] = (sql.chain.get(workspace, branch) ?? []) as unknown as number[];
        return sum + Math.min(seq, this.#seeing.upTo(branch));
      }, 0);
      if (seen * 2 >= all) return "";
    }
    return restriction(workspace, branches, filter);
  }
}

/**
 * Returns the positions that a hit can have. Times rise with positions, except for small differences between
 * the clocks of processes.
 */
function rangeOf({ sql, workspace, operation }: SearchContext): { from: number; to: number } {
  const { sight, filter, upTo = END_OF_BRANCH } = operation;
  const { since, until } = filter;
  const isPast = !sight.traces && sight.lines.every((line) => line.upTo < END_OF_BRANCH);
  const lastSeen = sight.lines.map((line) => {
    const chain = scalarOf<number>(sql.chain.get(workspace, line.branch));
    return scalarOf<number>(sql.positionAt.get(chain ?? 0, line.upTo)) ?? 0;
  });
  return {
    from: since === undefined ? 0 : firstSince(sql, since - MAX_CLOCK_SKEW_MS),
    to: Math.min(
      upTo,
      isPast ? Math.max(0, ...lastSeen) : END_OF_BRANCH,
      until === undefined ? END_OF_BRANCH : firstSince(sql, until + MAX_CLOCK_SKEW_MS),
    ),
  };
}

/** How much clocks of processes on one store may differ. */
const MAX_CLOCK_SKEW_MS = 60_000;

/** Returns the first position stored at the time or later, by binary search. */
function firstSince(sql: Statements, time: number): number {
  let low = 1;
  let high = numberOf(sql.lastPosition.get()) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [pos, storedAt] = (sql.timeFrom.get(middle) ?? [
      high,
      END_OF_BRANCH,
    ]) as unknown as number[];
    if ((storedAt as number) < time) low = (pos as number) + 1;
    else high = middle;
  }
  return low;
}
