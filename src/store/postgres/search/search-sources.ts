/**
 * The ranking sources of PostgreSQL: the index and the tail beyond it. Each question of the ranking is one
 * statement, no matter how many words or records it is about. A search reads from one snapshot.
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
import { featureRowOf, NO_CENSUS } from "../../feature-row.ts";
import {
  facetsIn,
  findNearestVisible,
  matchesSearchFilter,
  reachOf,
  type SearchMemories,
  spaceKey,
} from "../../search.ts";
import { SearchVisibility } from "../../search-visibility.ts";
import type { TailRecords } from "../../unindexed-tail.ts";
import { isRowVisible } from "../../visibility.ts";
import type { Row } from "../connection.ts";
import type { StatementRunner } from "../lines.ts";
import { SPACES } from "./indexer.ts";
import { type ListRequest, readLists } from "./search-lists.ts";
import { Restriction } from "./search-restriction.ts";
import { conditionsOf, type Space, termKey } from "./search-tokens.ts";
import type { VectorSearch } from "./vector-search.ts";

/** What the sources of one search read from. */
export interface SearchContext {
  readonly reader: StatementRunner;
  readonly kept: TailRecords;
  readonly vectors: VectorSearch;
  /** Position up to which records are indexed. */
  readonly watermark: number;
  /** Key of the workspace. */
  readonly key: number;
  readonly operation: SearchMemories & { readonly upTo: number };
}

/** With more branches than this, the index is not restricted to them: its results are checked anyway. */
const MAX_NAMED_BRANCHES = 16;
const FOUND_WIDTH = 14;
/** Maximum depth to which a list is read to find more records that pass a filter (about 5 ms). */
const MAX_LIST_DEPTH = 50_000;
/** Number of nearest vectors examined without and with a filter. */
const MAX_NEAREST = 200;
const MAX_NEAREST_FILTERED = 1_000;

/** The sources of one search. */
export class PostgresSources implements RankingSources {
  readonly #of: SearchContext;
  readonly #spaces: readonly Space[];
  readonly #seeing: SearchVisibility;
  #restriction: Promise<Restriction | undefined> | undefined;

  constructor(of: SearchContext) {
    this.#of = of;
    this.#spaces = of.operation.sight.traces ? SPACES : ["known"];
    this.#seeing = new SearchVisibility(of.operation);
  }

  #read(name: keyof StatementRunner["sql"], ...values: readonly unknown[]): Promise<Row[]> {
    const { reader, operation } = this.#of;
    return reader.read(reader.sql[name], [operation.workspace, ...values]);
  }

  async census(): Promise<Census> {
    const rows = this.#of.watermark === 0 ? [] : await this.#read("censusOf");
    const parts = this.#spaces.map((space) => {
      const row = rows.find(([n]) => n === SPACES.indexOf(space)) as number[] | undefined;
      const [, records = 0, passages = 0, terms = 0, first = 0, last = 0] = row ?? [];
      const tail = this.#tail(space)?.census() ?? NO_CENSUS;
      return appendCensus({ records, passages, terms, first, last }, tail);
    });
    return parts
      .filter(({ records }) => records > 0)
      .reduce((all, part) => mergeCensus(all, part), NO_CENSUS);
  }

  #tail(space: Space) {
    return this.#of.kept.space(spaceKey(this.#of.key, space));
  }

  /**
   * A list that is read to its end is returned unchanged: its length shows how rare its word is, and
   * records that the reader may not see are removed later. Of a longer list, only records that pass the
   * filter are read.
   */
  async postings(requests: readonly PostingRequest[]): Promise<readonly (readonly number[])[]> {
    const lists = await this.#lists(requests);
    const long = requests.filter((request, n) => lists[n]?.length === request.limit);
    if (long.length === 0) return lists;
    this.#restriction ??= this.#restrict();
    const restriction = await this.#restriction;
    if (restriction === undefined) return lists;
    const passing = await this.#passing(long, restriction);
    return requests.map((request, n) => passing.get(request) ?? lists[n] ?? []);
  }

  async #lists(
    requests: readonly PostingRequest[],
    deeper = 1,
  ): Promise<readonly (readonly number[])[]> {
    const wanted = requests.flatMap((request) =>
      this.#spaces.map((space): ListRequest & { tail: readonly number[] } => {
        const before = Math.min(request.before, this.#of.operation.upTo + 1);
        const limit = Math.max(request.limit, Math.min(request.limit * deeper, MAX_LIST_DEPTH));
        const tail = this.#tail(space)?.posting({ token: request.token, before, limit }) ?? [];
        const below = Math.min(before, this.#of.watermark + 1);
        return { key: termKey(space, request.token), below, most: limit - tail.length, tail };
      }),
    );
    const indexed = await readLists(this.#of.reader, this.#of.operation.workspace, wanted);
    const lists = wanted.map(({ tail }, n) => tail.concat(indexed[n] ?? []));
    if (this.#spaces.length === 1) return lists;
    return requests.map(({ limit }, n) => {
      const both = this.#spaces.flatMap((_, s) => lists[n * this.#spaces.length + s] ?? []);
      return both.sort((a, b) => b - a).slice(0, limit);
    });
  }

  async #passing(
    requests: readonly PostingRequest[],
    restriction: Restriction,
  ): Promise<Map<PostingRequest, readonly number[]>> {
    const { watermark } = this.#of;
    const passes = (pos: number): boolean =>
      pos > watermark ? this.#seenInTail(pos) !== undefined : restriction.passes(pos);
    const few = restriction.few;
    const passing = new Map<PostingRequest, readonly number[]>();
    if (few !== undefined) {
      for (const request of requests) {
        const tail = this.#tail("known")?.posting({ ...request, limit: Number.MAX_SAFE_INTEGER });
        const found = [...(tail ?? []).filter(passes), ...few.posting(request)];
        passing.set(request, found.slice(0, request.limit));
      }
      return passing;
    }
    const lists = await this.#lists(requests, restriction.deeper);
    for (const [n, request] of requests.entries()) {
      passing.set(request, (lists[n] ?? []).filter(passes).slice(0, request.limit));
    }
    return passing;
  }

  /**
   * Restricts by the filter's facets. Without facets, restricts by branches if most of the workspace's
   * records are on other branches; otherwise reading further costs less than comparing lists.
   */
  async #restrict(): Promise<Restriction | undefined> {
    const { reader, operation, watermark } = this.#of;
    const { sight, filter, workspace } = operation;
    const { branches } = this.#seeing;
    if (sight.traces || branches.length > MAX_NAMED_BRANCHES || watermark === 0) return undefined;
    if (facetsIn(filter).length === 0 && (await this.#seesMost(branches))) return undefined;
    return Restriction.load(reader, {
      workspace,
      conditions: conditionsOf(branches, filter),
      below: Math.min(watermark, operation.upTo) + 1,
      // The rest of the filter is checked when the records are read.
      records: (positions) => this.#indexed(positions, false),
    });
  }

  async #seesMost(branches: readonly string[]): Promise<boolean> {
    const [[traced], lengths] = await Promise.all([
      this.#read("tracedRecords").then(([row]) => row as [number]),
      this.#read("lengthsOf", branches),
    ]);
    const seen = (lengths as [string, number][]).reduce(
      (sum, [branch, length]) => sum + Math.min(length, this.#seeing.upTo(branch)),
      0,
    );
    return seen * 2 >= this.#of.operation.upTo - traced;
  }

  async records(positions: readonly number[]): Promise<readonly RecordFeatures[]> {
    const { watermark, operation } = this.#of;
    const known = positions.filter((pos) => pos <= operation.upTo);
    const tail = known
      .filter((pos) => pos > watermark)
      .flatMap((pos) => this.#seenInTail(pos) ?? []);
    const indexed = known.filter((pos) => pos <= watermark);
    return indexed.length === 0 ? tail : [...tail, ...(await this.#indexed(indexed))];
  }

  #seenInTail(pos: number): RecordFeatures | undefined {
    const entry = this.#of.kept.record(pos);
    if (entry === undefined || pos > this.#of.operation.upTo) return undefined;
    const { row, record, found } = entry;
    const isSeen = this.#seeing.isSeen({ ...row, reach: reachOf(record) });
    return isSeen && matchesSearchFilter(row, record, this.#of.operation.filter)
      ? found
      : undefined;
  }

  async #indexed(
    positions: readonly number[],
    filtered = this.#seeing.isFiltered,
  ): Promise<readonly RecordFeatures[]> {
    const rows = await this.#read(filtered ? "foundWithText" : "found", positions);
    return rows.flatMap((row): RecordFeatures[] => {
      const record = featureRowOf(row);
      if (!this.#seeing.isSeen(record)) return [];
      if (!filtered) return [record.found];
      return this.#seeing.passes(row.slice(FOUND_WIDTH)) ? [record.found] : [];
    });
  }

  async beside(
    records: readonly RecordFeatures[],
    reach: number,
  ): Promise<readonly SessionNeighbours[]> {
    const { watermark } = this.#of;
    if (records.length === 0) return [];
    const sessions = records.map(({ session }) => session);
    const positions = records.map(({ pos }) => pos);
    const rows =
      watermark === 0 ? [] : await this.#read("beside", sessions, positions, watermark, reach);
    return records.map(({ pos, session }, n): SessionNeighbours => {
      const [before = [], after = []] = (rows[n] ?? []) as readonly (readonly unknown[])[];
      const tail = this.#spaces.flatMap((space) => this.#tail(space)?.session(session) ?? []);
      const here = tail.filter((other) => other > watermark);
      const earlier = here
        .filter((other) => other < pos)
        .slice(-reach)
        .reverse();
      const later = here.filter((other) => other > pos);
      return {
        pos,
        before: [...earlier, ...before.map(Number)].slice(0, reach),
        after: [...after.map(Number), ...later].slice(0, reach),
      };
    });
  }

  async edges(positions: readonly number[], limit: number): Promise<readonly PositionEdge[]> {
    const { now } = this.#of.operation.ranking;
    const rows = await this.#read("edgesAround", positions, now, limit);
    return rows.map((row) => {
      const [kind, source, target] = row as [string, number, number];
      return { kind, source, target };
    });
  }

  async replaced(positions: readonly number[]): Promise<readonly Replacement[]> {
    if (positions.length === 0) return [];
    const { ranking, sight, upTo } = this.#of.operation;
    const rows = await this.#read("replacing", positions, ranking.now);
    return rows.flatMap((row): Replacement[] => {
      const [pos] = row as [number];
      const source = memoryOf(row.slice(1));
      return source.pos <= upTo && isRowVisible(source, sight) ? [{ pos, by: source.pos }] : [];
    });
  }

  /** Examines more vectors if a filter may exclude many of them. */
  async nearest(limit: number): Promise<readonly SimilarRecord[]> {
    const near = await this.#of.vectors.nearest(
      this.#seeing.isFiltered ? MAX_NEAREST_FILTERED : MAX_NEAREST,
    );
    return findNearestVisible(near, limit, (positions) => this.records(positions));
  }

  similarities(positions: readonly number[]): Promise<readonly SimilarRecord[]> {
    return this.#of.vectors.similarities(positions);
  }
}

/** Merges the totals of two spaces. */
function mergeCensus(all: Census, part: Census): Census {
  if (all.records === 0) return part;
  return {
    records: all.records + part.records,
    passages: all.passages + part.passages,
    terms: all.terms + part.terms,
    first: Math.min(all.first, part.first),
    last: Math.max(all.last, part.last),
  };
}
